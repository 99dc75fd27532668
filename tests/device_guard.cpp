// For fake_cuda.py: a device guard that does nothing, which torch asks for streams and devices
// wherever a tensor says that it is on a CUDA device, and hooks that say that there is one, which
// the backward pass asks.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

const Device kDevice(c10::DeviceType::CUDA, 0);

struct NoGuard final : public c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  Device exchangeDevice(Device) const override { return kDevice; }
  Device getDevice() const override { return kDevice; }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  Stream getStream(Device) const override { return Stream(Stream::DEFAULT, kDevice); }
  Stream getNewStream(Device, int = 0) const override { return Stream(Stream::DEFAULT, kDevice); }
  Stream getDefaultStream(Device) const override { return Stream(Stream::DEFAULT, kDevice); }
  Stream exchangeStream(Stream stream) const override { return stream; }
  DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const Stream&, const DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const DeviceIndex) const override {}
};

C10_REGISTER_GUARD_IMPL(CUDA, NoGuard)

} // namespace

namespace at {

// torch looks for hooks of this name
struct CUDAHooks final : public CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  int getNumGPUs() const override { return 1; }
};

REGISTER_CUDA_HOOKS(CUDAHooks)

} // namespace at
