// Runs the blocks of a grid one after the other, and the threads of a block in turns. Blocks of a cooperative launch run
// until all of them have come to a barrier of the grid, each with shared memory of its own.
//
// A thread that waits for others is a fibre: a stack of its own, left and entered again. Threads that must meet and do
// not are found: when nobody can go on, the report says who waits where.

#include "runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

extern "C" {
uint3 threadIdx, blockIdx, blockDim, gridDim;
}

namespace {

constexpr unsigned WARP = 32;
constexpr size_t STACK = 1 << 20;
constexpr unsigned char RUBBISH = 0xA5;

enum class State { READY, BARRIER, EXCHANGE, GRID, ENDED };
enum class Block { ENDED, STUCK, AT_GRID };

#if defined(__x86_64__)
// The registers that a call keeps go to the old stack, and come from the new one.
extern "C" void cuda_switch(void **from, void *to);
asm(R"(
.text
.globl cuda_switch
.type cuda_switch, @function
cuda_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size cuda_switch, .-cuda_switch
)");

struct Context {
    void *top = nullptr;

    void begin(char *stack, void (*start)()) {
        void **place = reinterpret_cast<void **>(stack + STACK) - 8;
        std::memset(place, 0, 8 * sizeof *place);
        place[6] = reinterpret_cast<void *>(start);
        top = place;
    }
    static void change(Context &from, Context &to) { cuda_switch(&from.top, to.top); }
};
#else
struct Context {
    ucontext_t state;

    void begin(char *stack, void (*start)()) {
        getcontext(&state);
        state.uc_stack.ss_sp = stack;
        state.uc_stack.ss_size = STACK;
        state.uc_link = nullptr;
        makecontext(&state, start, 0);
    }
    static void change(Context &from, Context &to) { swapcontext(&from.state, &to.state); }
};
#endif

struct Thread {
    Context context;
    char *stack = nullptr;
    State state = State::READY;
    uint3 index;
    int line = 0;
    unsigned mask = 0;
};

struct Warp {
    unsigned long long offered[WARP];
    // What a group of lanes gets, by its lowest lane. Groups are let go between two rounds of all threads, and in a
    // round everybody who was let go reads, so nobody is overtaken.
    unsigned long long received[WARP][WARP];
};

const cuda_launch *launch;
std::vector<Thread> all_threads;
std::vector<Warp> all_warps;
Thread *threads;  // of the block that runs
Warp *warps;
unsigned volume, current;
Context scheduler;
bool is_stray;  // a thread waits for others where there are no fibres
char faults[200];  // the first one
void *escape[5];   // out of a thread that cannot go on

void wait_as(State state, int line) {
    Thread &thread = threads[current];
    thread.state = state;
    thread.line = line;
    Context::change(thread.context, scheduler);
}

void start() {
    launch->body(launch->arguments);
    threads[current].state = State::ENDED;
    Context::change(threads[current].context, scheduler);
    std::abort();
}

char *new_stack() {
    void *stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) {
        std::perror("stack of a thread");
        std::abort();
    }
    return static_cast<char *>(stack);
}

// Let those go on who have met at the block's barrier. Nobody may have left the kernel before.
bool release_block() {
    for (unsigned i = 0; i < volume; ++i)
        if (threads[i].state != State::BARRIER || threads[i].line != threads[0].line)
            return false;
    for (unsigned i = 0; i < volume; ++i)
        threads[i].state = State::READY;
    return true;
}

// The same for the lanes of a warp that are named in their masks.
bool release_warp(unsigned first) {
    bool any = false;
    for (unsigned i = first; i < first + WARP && i < volume; ++i) {
        const Thread &thread = threads[i];
        if (thread.state != State::EXCHANGE)
            continue;
        unsigned here = 0;
        for (unsigned j = first; j < first + WARP && j < volume; ++j)
            if (threads[j].state == State::EXCHANGE && threads[j].line == thread.line && threads[j].mask == thread.mask)
                here |= 1u << (j - first);
        if ((here & thread.mask) != thread.mask)
            continue;
        Warp &warp = warps[first / WARP];
        std::memcpy(warp.received[__builtin_ctz(thread.mask)], warp.offered, sizeof warp.offered);
        for (unsigned j = first; j < first + WARP && j < volume; ++j)
            if (thread.mask >> (j - first) & 1u)
                threads[j].state = State::READY;
        any = true;
    }
    return any;
}

Block report_stuck(char *report, size_t size) {
    size_t used = std::snprintf(report, size, "threads of block (%u, %u, %u) wait for others that do not come:",
                                blockIdx.x, blockIdx.y, blockIdx.z);
    std::vector<bool> seen(volume);
    for (unsigned i = 0; i < volume && used < size; ++i) {
        if (seen[i])
            continue;
        unsigned count = 0;
        for (unsigned j = i; j < volume; ++j)
            if (threads[j].state == threads[i].state && threads[j].line == threads[i].line && threads[j].mask == threads[i].mask)
                seen[j] = true, ++count;
        const char *what = threads[i].state == State::BARRIER ? "at the barrier in line"
                         : threads[i].state == State::EXCHANGE ? "at the exchange in line"
                         : threads[i].state == State::GRID ? "at the barrier of the grid in line" : "have ended, last seen in line";
        used += std::snprintf(report + used, size - used, " %u %s %d (thread %u, mask %08x);", count, what,
                              threads[i].line, i, threads[i].mask);
    }
    return Block::STUCK;
}

uint3 unfolded(unsigned long long linear, uint3 size) {
    uint3 at;
    at.x = linear % size.x;
    at.y = linear / size.x % size.y;
    at.z = linear / (static_cast<unsigned long long>(size.x) * size.y);
    return at;
}

// Whether all threads of the block have met at a barrier of the grid.
bool is_at_grid() {
    for (unsigned i = 0; i < volume; ++i)
        if (threads[i].state != State::GRID || threads[i].line != threads[0].line)
            return false;
    return true;
}

void begin_fibres() {
    for (unsigned i = 0; i < volume; ++i) {
        Thread &thread = threads[i];
        if (!thread.stack)
            thread.stack = new_stack();
        thread.context.begin(thread.stack, start);
        thread.state = State::READY;
        thread.index = unfolded(i, blockDim);
        thread.line = 0, thread.mask = 0;
    }
}

Block run_fibres(char *report, size_t size) {
    for (;;) {
        unsigned ended = 0;
        bool any = false;
        for (unsigned n = 0; n < volume; ++n) {
            current = launch->backwards ? volume - 1 - n : n;
            Thread &thread = threads[current];
            if (thread.state == State::READY) {
                any = true;
                threadIdx = thread.index;
                Context::change(scheduler, thread.context);
            }
            ended += thread.state == State::ENDED;
        }
        if (ended == volume)
            return Block::ENDED;
        if (is_at_grid())
            return Block::AT_GRID;
        for (unsigned first = 0; first < volume; first += WARP)
            any |= release_warp(first);
        any |= release_block();
        if (!any)
            return report_stuck(report, size);
    }
}

Block run_loop() {
    for (unsigned n = 0; n < volume; ++n) {
        threadIdx = unfolded(launch->backwards ? volume - 1 - n : n, blockDim);
        launch->body(launch->arguments);
    }
    return Block::ENDED;
}

// Room for `count` blocks at the same time.
void make_room(unsigned long long count) {
    const size_t each = (volume + WARP - 1) / WARP;
    if (all_threads.size() < count * volume)
        all_threads.resize(count * volume);
    all_warps.resize(count * each);
}

void enter(unsigned long long place, unsigned long long block) {
    threads = &all_threads[place * volume];
    warps = &all_warps[place * ((volume + WARP - 1) / WARP)];
    blockIdx = unfolded(block, gridDim);
}

int run_one_by_one(unsigned long long blocks, char *report, size_t size) {
    make_room(1);
    for (unsigned long long n = 0; n < blocks; ++n) {
        enter(0, launch->backwards ? blocks - 1 - n : n);
        std::memset(launch->shared, RUBBISH, launch->shared_size);
        if (launch->has_barriers)
            begin_fibres();
        switch (launch->has_barriers ? run_fibres(report, size) : run_loop()) {
        case Block::ENDED:
            break;
        case Block::STUCK:
            return 1;
        case Block::AT_GRID:
            std::snprintf(report, size, "line %d: a barrier of the grid in a launch that is not cooperative", threads->line);
            return 1;
        }
    }
    return 0;
}

int run_together(unsigned long long blocks, char *report, size_t size) {
    make_room(blocks);
    static std::vector<char> shared;
    shared.assign(blocks * launch->shared_size, static_cast<char>(RUBBISH));
    for (unsigned long long block = 0; block < blocks; ++block) {
        enter(block, block);
        begin_fibres();
    }
    for (;;) {
        unsigned long long ended = 0;
        for (unsigned long long n = 0; n < blocks; ++n) {
            const unsigned long long block = launch->backwards ? blocks - 1 - n : n;
            enter(block, block);
            std::memcpy(launch->shared, &shared[block * launch->shared_size], launch->shared_size);
            const Block state = run_fibres(report, size);
            std::memcpy(&shared[block * launch->shared_size], launch->shared, launch->shared_size);
            if (state == Block::STUCK)
                return 1;
            ended += state == Block::ENDED;
        }
        if (ended == blocks)
            return 0;
        if (ended) {
            std::snprintf(report, size, "blocks wait at a barrier of the grid, and %llu of %llu have ended", ended, blocks);
            return 1;
        }
        for (unsigned long long i = 0; i < blocks * volume; ++i)
            all_threads[i].state = State::READY;
    }
}

// All that the sanitizer passes begins with the place.
struct Found {
    const char *file;
    unsigned line, column;
};

void note(const Found *found, const char *what) {
    if (!*faults)
        std::snprintf(faults, sizeof faults, "line %u: %s is not defined in C++", found->line, what);
}

}  // namespace

extern "C" {

void cuda_barrier(int line) {
    if (!launch->has_barriers) {
        is_stray = true;
        return;
    }
    wait_as(State::BARRIER, line);
}

const unsigned long long *cuda_exchange(unsigned mask, unsigned long long word, int line) {
    static unsigned long long nothing[WARP];
    if (!launch->has_barriers) {
        is_stray = true;
        return nothing;
    }
    Warp &warp = warps[current / WARP];
    warp.offered[current % WARP] = word;
    threads[current].mask = mask & cuda_existing();
    wait_as(State::EXCHANGE, line);
    return warp.received[__builtin_ctz(threads[current].mask)];
}

void cuda_grid_barrier(int line) {
    if (!launch->has_barriers) {
        is_stray = true;
        return;
    }
    wait_as(State::GRID, line);
}

unsigned cuda_existing(void) {
    const unsigned left = volume - current / WARP * WARP;
    return left < WARP ? (1u << left) - 1u : 0xFFFFFFFFu;
}

unsigned cuda_lane(void) {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % WARP;
}

int cuda_run(const cuda_launch *what, char *report, unsigned long long report_size) {
    launch = what;
    gridDim = what->grid, blockDim = what->block;
    volume = blockDim.x * blockDim.y * blockDim.z;
    is_stray = false, *faults = 0;
    const unsigned long long blocks = static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
    if (!__builtin_setjmp(escape))
        if (int failed = (what->is_cooperative ? run_together : run_one_by_one)(blocks, report, report_size))
            return failed;
    if (is_stray)
        std::snprintf(faults, sizeof faults, "threads wait for each other in a kernel that was taken for one without");
    if (*faults)
        std::snprintf(report, report_size, "%s", faults);
    return *faults != 0;
}

#define CUDA_FINDING(name, what) \
    void __ubsan_handle_##name(Found *found) { note(found, what); }
CUDA_FINDING(add_overflow, "the overflow of a sum")
CUDA_FINDING(sub_overflow, "the overflow of a difference")
CUDA_FINDING(mul_overflow, "the overflow of a product")
CUDA_FINDING(negate_overflow, "the overflow of a negation")
void __ubsan_handle_divrem_overflow(Found *found) {  // the CPU would end the process
    note(found, "a quotient by zero or beyond the type");
    __builtin_longjmp(escape, 1);
}
CUDA_FINDING(shift_out_of_bounds, "a shift by as much")
CUDA_FINDING(out_of_bounds, "an index outside of an array")
CUDA_FINDING(float_cast_overflow, "the conversion of a float that does not fit")
CUDA_FINDING(load_invalid_value, "a bool that is neither")
}
