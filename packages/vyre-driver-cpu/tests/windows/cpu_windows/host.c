/* A process of Windows that links object code with llvmlite and runs it, as standard input says.
 *
 * All numbers are 8 bytes, little endian; bytes come behind their number. The first are the triple, the CPU and its
 * features. Each command begins with its number; `process.py` has the other side.
 */
#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

enum { LINK, UNLOAD, ALLOCATE, FREE, WRITE, READ, CALL, THREAD };

typedef struct { uint8_t kind; char *value; size_t length; } Element;  /* as in llvmlite: 2 is code, 3 this process */
typedef struct { char *name; uint64_t address; } Symbol;
typedef uint64_t (*Function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static HMODULE llvm;
static const char *message;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, message ? message : "failed");
    exit(1);
}

static void *symbol(const char *name) {
    void *found = (void *)GetProcAddress(llvm, name);
    if (!found) fail(name);
    return found;
}

static void get(void *to, size_t size) {
    if (fread(to, 1, size, stdin) != size) exit(0);
}

static uint64_t number(void) {
    uint64_t read;
    get(&read, sizeof read);
    return read;
}

static char *bytes(size_t *size) {
    *size = number();
    char *read = calloc(*size + 1, 1);
    get(read, *size);
    return read;
}

static void put(uint64_t value) { fwrite(&value, sizeof value, 1, stdout); }

static void link_code(void *jit, uint64_t library) {
    void *(*link)(void *, const char *, Element *, size_t, Symbol *, size_t, Symbol *, size_t, const char **) =
        symbol("LLVMPY_LLJIT_Link");
    Element elements[] = {{2, NULL, 0}, {3, "", 0}};
    elements[0].value = bytes(&elements[0].length);
    uint64_t count = number();
    Symbol *symbols = calloc(count + 1, sizeof *symbols);
    size_t size;
    for (uint64_t n = 0; n < count; n++) symbols[n].name = bytes(&size);
    char name[32];
    sprintf(name, "library_%llu", (unsigned long long)library);
    void *tracker = link(jit, name, elements, 2, NULL, 0, symbols, count, &message);
    if (!tracker) fail("linking");
    put((uint64_t)tracker);
    for (uint64_t n = 0; n < count; n++) {
        put(symbols[n].address);
        free(symbols[n].name);
    }
    free(symbols);
    free(elements[0].value);
}

static DWORD WINAPI thread(void *given) {
    uint64_t *a = given;
    ((Function)a[0])(a[1], a[2], a[3], 0, 0, 0, 0);
    return 0;
}

int main(int count, char **arguments) {
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    if (!(llvm = LoadLibraryA(arguments[1]))) fail("loading llvmlite");
    ((void (*)(void))symbol("LLVMPY_InitializeNativeTarget"))();
    ((void (*)(void))symbol("LLVMPY_InitializeNativeAsmPrinter"))();
    size_t size;
    char *triple = bytes(&size), *cpu = bytes(&size), *features = bytes(&size);
    void *(*find)(const char *, const char **) = symbol("LLVMPY_GetTargetFromTriple");
    void *(*make)(void *, const char *, const char *, const char *, int, const char *, const char *, int, int,
                  const char *) = symbol("LLVMPY_CreateTargetMachine");
    void *(*start)(void *, char, char, const char **) = symbol("LLVMPY_CreateLLJITCompiler");
    void *target = find(triple, &message);
    if (!target) fail("the target");
    void *jit = start(make(target, triple, cpu, features, 3, "pic", "large", 0, 1, ""), 0, 0, &message);
    if (!jit) fail("the JIT compiler");
    char (*unload)(void *, const char **) = symbol("LLVMPY_LLJIT_Dylib_Tracker_Dispose");
    for (uint64_t libraries = 0;; fflush(stdout)) {
        uint64_t a[8];
        switch (number()) {
        case LINK: link_code(jit, libraries++); break;
        case UNLOAD: unload((void *)number(), &message); break;
        case ALLOCATE: put((uint64_t)VirtualAlloc(NULL, number(), MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)); break;
        case FREE: VirtualFree((void *)number(), 0, MEM_RELEASE); break;
        case WRITE: a[0] = number(), a[1] = number(), get((void *)a[0], a[1]); break;
        case READ: a[0] = number(), a[1] = number(), fwrite((void *)a[0], 1, a[1], stdout); break;
        case CALL: get(a, sizeof a), put(((Function)a[0])(a[1], a[2], a[3], a[4], a[5], a[6], a[7])); break;
        case THREAD: {
            uint64_t *given = malloc(sizeof a);
            get(given, sizeof a);
            CreateThread(NULL, 16 << 20, thread, given, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
            break;
        }
        }
    }
}
