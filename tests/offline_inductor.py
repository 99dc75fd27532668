"""What torch.compile makes of rewards for a CUDA device, without one: inductor's kernels, compiled.

    python tests/offline_inductor.py FOLDER

For every metric that promises it, dynamo captures the scores of token ids (250 segments, 8 samples,
24 ids) on tensors that have a device and no values, in one graph without a break; inductor writes
its Triton code to FOLDER, and Triton compiles the kernels to cubins: those of BLEU for A100, RTX
4090 and H100 (capabilities 8.0, 8.9, 9.0), further ones of other metrics for the first. Prints a
table as JSON: kernels that are launched, and calls of torch's own, for each metric.

Needs Triton, and g++ for the device guard of fake_cuda.py. torch is told that there is an A100
before inductor is imported, so that this has to be a process of its own.
"""

import ctypes
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from fake_cuda import guard

CAPABILITIES = (80, 89, 90)
SHAPES = ((250, 8, 24), (250, 1, 24))
A100 = SimpleNamespace(
    name="A100",
    major=8,
    minor=0,
    multi_processor_count=108,
    total_memory=40 << 30,
    warp_size=32,
    regs_per_multiprocessor=65536,
    max_threads_per_block=1024,
    max_threads_per_multi_processor=2048,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=166912,
    shared_memory_per_multiprocessor=167936,
    L2_cache_size=40 << 20,
    is_integrated=False,
    gcnArchName="",
)


def pretend():
    """Tell torch and Triton that there is a device."""
    ctypes.CDLL(str(guard()))
    for name, value in (
        ("is_available", True),
        ("_lazy_init", None),
        ("device_count", 1),
        ("current_device", 0),
        ("get_device_properties", A100),
        ("get_device_capability", (8, 0)),
        ("get_rng_state", torch.zeros(16, dtype=torch.uint8)),
        ("set_rng_state", None),
    ):
        setattr(torch.cuda, name, lambda *_, value=value: value)
    import triton
    from torch._inductor.codegen import triton as codegen
    from triton.backends.compiler import GPUTarget

    codegen.triton_hash_with_backend = lambda *_: ""
    driver = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 80, 32),
        get_current_device=lambda: 0,
        get_active_torch_device=lambda: torch.device("cuda", 0),
        get_device_interface=lambda: torch.cuda,
    )
    triton.runtime.driver.set_active(driver)


def write_code(metric):
    """Inductor's code for the scores of a metric."""
    from torch._guards import TracingContext, tracing
    from torch._inductor.debug import DebugContext
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V
    from torch._subclasses.fake_tensor import FakeTensorMode

    from tensormt.train.functional import scores

    class Rewards(torch.nn.Module):
        def forward(self, samples, refs):
            return (scores(metric, samples, refs, pad=0, eos=1),)

    with FakeTensorMode() as mode:
        ids = tuple(torch.empty(shape, dtype=torch.int64, device="cuda") for shape in SHAPES)
        made = torch.export.export(Rewards(), ids, strict=True)  # an error at a graph break
        made = made.run_decompositions(select_decomp_table()).graph_module
    inputs = [node.meta["val"] for node in made.graph.find_nodes(op="placeholder")]
    mode = inputs[0].fake_mode
    with V.set_debug_handler(DebugContext()), V.set_fake_mode(mode), tracing(TracingContext(mode)):
        lowered = GraphLowering(made, example_inputs=inputs, graph_id=0, is_inference=True)
        with V.set_graph_handler(lowered):
            lowered.run(*inputs)
            return lowered.codegen()[0].value


def counts(code):
    """Launches of kernels, calls of torch's own operations, and reads of the host."""
    calls = re.search(r"def call\(.*?\n\n", code, re.DOTALL)[0]
    lines = [line.partition("#")[0] for line in calls.splitlines()]
    return {
        "kernels": sum(".run(" in line for line in lines),
        "calls": sum(bool(re.search(r"\b(aten|extern_kernels|ops\.\w+)\.", s)) for s in lines),
        "syncs": sum(bool(re.search(r"\.item\(|\.cpu\(|\.tolist\(", s)) for s in lines),
    }


def kernels(code):
    """Names and sources of the Triton kernels."""
    return re.findall(r"async_compile\.triton\('(\w+)', '''(.*?)'''", code, re.DOTALL)


def build(name, source, folder, capabilities):
    """Compile a kernel to cubins."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    path = folder / f"{name[:100]}.py"
    # the driver of a real device is not asked
    path.write_text(source.replace("triton_helpers.set_driver_to_gpu()", ""), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, name)
    config = kernel.configs[0]
    meta = kernel._create_compile_meta(config)
    made = ASTSource(kernel.fn, meta["signature"], meta["constants"], meta["configs"][0])
    options = kernel._create_compile_options(config, meta)
    for capability in capabilities:
        target = GPUTarget("cuda", capability, 32)
        cubin = triton.compile(made, target=target, options=options).asm["cubin"]
        assert cubin.startswith(b"\x7fELF"), name


def main(folder):
    """Write the code, compile it, and print the counts."""
    pretend()
    from tensormt.ngram import BLEU, BM, NIST, ChrF

    found, built = {}, set()
    for metric in (BLEU(effective_order=True), ChrF(), BM(), NIST(info="segment")):
        code = write_code(metric)
        (folder / f"{metric.name}.py").write_text(code, encoding="utf-8")
        found[metric.name] = counts(code)
        for name, source in kernels(code):
            own = source.replace(name, "")
            if own not in built:
                every = metric.name == "BLEU"
                build(name, source, folder, CAPABILITIES if every else CAPABILITIES[:1])
                built.add(own)
        found[metric.name]["compiled"] = len(built)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
