/* A peer for the tree kernel: Moschitti's fast tree kernel (EACL 2006) on one thread, from text.
 *
 * Per tree: read the bracketing, hash the production of every inner node to 64 bits, sort the nodes
 * by it. Per pair of trees: merge the two sorted lists, and for each pair of nodes with equal
 * productions the recursion of Collins & Duffy with a table of what is known. Memory is kept from
 * one pair to the next. With `lexical` a word is a child of its tag; else tags are leaves.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int parent, children, first, next, last; /* places of parent, first child, sibling, last child */
    int inner;                               /* number among the inner nodes, -1 for a leaf */
    uint64_t label, production;
} Node;

typedef struct {
    uint64_t production;
    int node;
} Key;

typedef struct {
    int size, inner;
    size_t room;
    Node *nodes;
    Key *sorted; /* inner nodes by production */
} Tree;

static int by_production(const void *a, const void *b) {
    uint64_t x = ((const Key *)a)->production, y = ((const Key *)b)->production;
    return (x > y) - (x < y);
}

static int space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static uint64_t mix(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * 0x9E3779B97F4A7C15ull;
    return hash ^ (hash >> 29);
}

static void sort(Key *keys, int size) {
    if (size > 64) {
        qsort(keys, size, sizeof(Key), by_production);
        return;
    }
    for (int k = 1; k < size; k++) {
        Key key = keys[k];
        int at = k;
        for (; at && keys[at - 1].production > key.production; at--) keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static void read_tree(Tree *tree, const char *line, int lexical) {
    size_t room = strlen(line) / 2 + 2;
    if (room > tree->room) {
        tree->room = room;
        tree->nodes = realloc(tree->nodes, room * sizeof(Node));
        tree->sorted = realloc(tree->sorted, room * sizeof(Key));
    }
    Node *nodes = tree->nodes;
    int at = -1, size = 0;
    for (const char *c = line; *c;) {
        if (*c == '(' || (!space(*c) && *c != ')')) {
            int word = *c != '(';
            if (!word)
                for (c++; space(*c);) c++;
            uint64_t label = 14695981039346656037ull;
            for (; *c && !space(*c) && *c != '(' && *c != ')'; c++)
                label = (label ^ (unsigned char)*c) * 1099511628211ull;
            if (word && !lexical) continue;
            nodes[size] = (Node){at, 0, -1, -1, -1, -1, label, 0};
            if (at >= 0) {
                Node *above = &nodes[at];
                if (above->children++) nodes[above->last].next = size;
                else above->first = size;
                above->last = size;
            }
            if (!word) at = size;
            size++;
        } else {
            if (*c == ')') at = nodes[at].parent;
            c++;
        }
    }
    tree->size = size;
    tree->inner = 0;
    for (int k = 0; k < size; k++) {
        Node *node = &nodes[k];
        if (!node->children) continue;
        uint64_t production = mix(node->label, node->children);
        for (int child = node->first; child >= 0; child = nodes[child].next)
            production = mix(production, nodes[child].label);
        node->production = production;
        node->inner = tree->inner;
        tree->sorted[tree->inner++] = (Key){production, k};
    }
    sort(tree->sorted, tree->inner);
}

static double delta(const Tree *a, const Tree *b, int x, int y, double decay, double *known) {
    const Node *own = &a->nodes[x], *other = &b->nodes[y];
    double *cell = &known[(size_t)own->inner * b->inner + other->inner];
    if (*cell > 0) return *cell;
    double value = decay;
    int s = own->first, t = other->first;
    for (; s >= 0; s = a->nodes[s].next, t = b->nodes[t].next) {
        const Node *left = &a->nodes[s], *right = &b->nodes[t];
        if (left->inner >= 0 && right->inner >= 0 && left->production == right->production)
            value *= 1 + delta(a, b, s, t, decay, known);
    }
    return *cell = value;
}

static double kernel(const Tree *a, const Tree *b, double decay) {
    static double *known;
    static size_t room;
    size_t cells = (size_t)a->inner * b->inner;
    if (cells > room) {
        room = cells;
        free(known);
        known = malloc(room * sizeof(double));
    }
    memset(known, 0, cells * sizeof(double));
    double sum = 0;
    int i = 0, j = 0;
    while (i < a->inner && j < b->inner) {
        uint64_t production = a->sorted[i].production;
        if (production < b->sorted[j].production) i++;
        else if (production > b->sorted[j].production) j++;
        else {
            int stop = j;
            for (; i < a->inner && a->sorted[i].production == production; i++)
                for (stop = j; stop < b->inner && b->sorted[stop].production == production; stop++)
                    sum += delta(a, b, a->sorted[i].node, b->sorted[stop].node, decay, known);
            j = stop;
        }
    }
    return sum;
}

/* K(h, r) / sqrt(K(h, h) K(r, r)) of n pairs of bracketings. */
void cosines(int n, const char **hyps, const char **refs, double decay, int lexical, double *out) {
    static Tree a, b;
    for (int k = 0; k < n; k++) {
        read_tree(&a, hyps[k], lexical);
        read_tree(&b, refs[k], lexical);
        double both = kernel(&a, &b, decay);
        out[k] = both > 0 ? both / sqrt(kernel(&a, &a, decay) * kernel(&b, &b, decay)) : 0;
    }
}
