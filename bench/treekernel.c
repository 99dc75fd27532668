/* A peer for the tree kernel: Moschitti's fast tree kernel (EACL 2006) on one thread, from text.
 *
 * Per tree: read the bracketing, write the production of every inner node as a string, sort the
 * nodes by it. Per pair of trees: merge the two sorted lists, and for each pair of nodes with equal
 * productions the recursion of Collins & Duffy with a table of what is known. Arrays are as small
 * as the two trees. With `lexical` a word is a child of its tag; else tags are leaves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int parent, children, first, next; /* places of the parent, the first child, the next sibling */
    const char *label;
    int length;
    char *production; /* NULL for a leaf */
} Node;

typedef struct {
    int size, inner;
    Node *nodes;
    int *sorted; /* inner nodes by production */
    char *text;
} Tree;

static __thread Node *order_nodes;

static int by_production(const void *a, const void *b) {
    return strcmp(order_nodes[*(const int *)a].production, order_nodes[*(const int *)b].production);
}

static int space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static Tree read_tree(const char *line, int lexical) {
    size_t length = strlen(line);
    Tree tree = {0, 0, malloc((length / 2 + 2) * sizeof(Node)), NULL, NULL};
    int *last = malloc((length / 2 + 2) * sizeof(int));
    int at = -1;
    for (const char *c = line; *c;) {
        if (*c == '(' || (!space(*c) && *c != ')')) {
            int word = *c != '(';
            if (!word)
                for (c++; space(*c);) c++;
            const char *start = c;
            while (*c && !space(*c) && *c != '(' && *c != ')') c++;
            if (word && !lexical) continue;
            Node node = {at, 0, -1, -1, start, (int)(c - start), NULL};
            if (at >= 0) {
                if (tree.nodes[at].children++) tree.nodes[last[at]].next = tree.size;
                else tree.nodes[at].first = tree.size;
                last[at] = tree.size;
            }
            tree.nodes[tree.size] = node;
            if (!word) at = tree.size;
            tree.size++;
        } else {
            if (*c == ')') at = tree.nodes[at].parent;
            c++;
        }
    }
    tree.text = malloc(2 * length + 2 * tree.size + 2);
    tree.sorted = malloc((tree.size + 1) * sizeof(int));
    char *to = tree.text;
    for (int k = 0; k < tree.size; k++) {
        Node *node = &tree.nodes[k];
        if (!node->children) continue;
        node->production = to;
        memcpy(to, node->label, node->length);
        to += node->length;
        for (int child = node->first; child >= 0; child = tree.nodes[child].next) {
            *to++ = ' ';
            memcpy(to, tree.nodes[child].label, tree.nodes[child].length);
            to += tree.nodes[child].length;
        }
        *to++ = 0;
        tree.sorted[tree.inner++] = k;
    }
    order_nodes = tree.nodes;
    qsort(tree.sorted, tree.inner, sizeof(int), by_production);
    free(last);
    return tree;
}

static void drop(Tree tree) {
    free(tree.nodes);
    free(tree.sorted);
    free(tree.text);
}

static double delta(const Tree *a, const Tree *b, int x, int y, double decay, double *known) {
    double *cell = &known[(size_t)x * b->size + y];
    if (*cell >= 0) return *cell;
    double value = decay;
    int s = a->nodes[x].first, t = b->nodes[y].first;
    for (; s >= 0; s = a->nodes[s].next, t = b->nodes[t].next) {
        const char *left = a->nodes[s].production, *right = b->nodes[t].production;
        if (left && right && !strcmp(left, right)) value *= 1 + delta(a, b, s, t, decay, known);
    }
    return *cell = value;
}

static double kernel(const Tree *a, const Tree *b, double decay) {
    double *known = malloc((size_t)a->size * b->size * sizeof(double));
    for (size_t k = 0; k < (size_t)a->size * b->size; k++) known[k] = -1;
    double sum = 0;
    int i = 0, j = 0;
    while (i < a->inner && j < b->inner) {
        const char *production = a->nodes[a->sorted[i]].production;
        int c = strcmp(production, b->nodes[b->sorted[j]].production);
        if (c < 0) i++;
        else if (c > 0) j++;
        else {
            int stop = j;
            for (; i < a->inner && !strcmp(production, a->nodes[a->sorted[i]].production); i++)
                for (stop = j; stop < b->inner
                     && !strcmp(production, b->nodes[b->sorted[stop]].production); stop++)
                    sum += delta(a, b, a->sorted[i], b->sorted[stop], decay, known);
            j = stop;
        }
    }
    free(known);
    return sum;
}

/* K(h, r) / sqrt(K(h, h) K(r, r)) of n pairs of bracketings. */
void cosines(int n, const char **hyps, const char **refs, double decay, int lexical, double *out) {
    for (int k = 0; k < n; k++) {
        Tree a = read_tree(hyps[k], lexical), b = read_tree(refs[k], lexical);
        double both = kernel(&a, &b, decay);
        out[k] = both > 0 ? both / sqrt(kernel(&a, &a, decay) * kernel(&b, &b, decay)) : 0;
        drop(a);
        drop(b);
    }
}
