; The queue of launches and the threads that work on it.
;
; A launch is a `%job`: a kernel over workgroups 0 ... total, taken in chunks by an atomic counter. Jobs run in the order
; in which they were submitted: the head of the list runs until its last chunk has ended, then the next. Everything but
; the counter is guarded by one mutex. Threads come from Python and stay in `@work`; a thread that waits for a job may
; take part in the work, and leaves between two chunks when its time has come.
;
; The first lines, which differ from system to system, define @lock, @unlock, @sleep, @sleep_until, @wake_one, @wake_all
; and @now: see `runtime.py`. The memory of a pool and of jobs belongs to Python.

;              fn   args grid total chunk next users state began ended following most brief
%job  = type { ptr, ptr, ptr, i64,  i64,  i64, i32,  i32,  i64,  i64,  ptr,      i32, i32 }
;              mutex       work        done        head tail stop
%pool = type { [128 x i8], [128 x i8], [128 x i8], ptr, ptr, i32 }

; Runs chunks of a job until none is left, the time is `%until`, or it is cancelled: then its counter is beyond the end.
define internal void @run_chunks(ptr %job, i64 %until) {
entry:
  %fn.at = getelementptr inbounds %job, ptr %job, i32 0, i32 0
  %fn = load ptr, ptr %fn.at
  %args.at = getelementptr inbounds %job, ptr %job, i32 0, i32 1
  %args = load ptr, ptr %args.at
  %grid.at = getelementptr inbounds %job, ptr %job, i32 0, i32 2
  %grid = load ptr, ptr %grid.at
  %total.at = getelementptr inbounds %job, ptr %job, i32 0, i32 3
  %total = load i64, ptr %total.at
  %chunk.at = getelementptr inbounds %job, ptr %job, i32 0, i32 4
  %chunk = load i64, ptr %chunk.at
  %next = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  %is.unlimited = icmp eq i64 %until, 9223372036854775807
  br label %take
take:
  %begin = atomicrmw add ptr %next, i64 %chunk monotonic
  %is.some = icmp slt i64 %begin, %total
  br i1 %is.some, label %run, label %none
run:
  %left = sub i64 %total, %begin
  %count = call i64 @llvm.smin.i64(i64 %left, i64 %chunk)
  %end = add i64 %begin, %count
  call void %fn(ptr %args, ptr %grid, i64 %begin, i64 %end)
  br i1 %is.unlimited, label %take, label %look
look:
  %time = call i64 @now()
  %is.time = icmp sge i64 %time, %until
  br i1 %is.time, label %none, label %take
none:
  ret void
}

; Takes part in the job at the head, if there is something left to take, and fewer than `most` threads take part: whether
; it was so. A thread that waits does so until the time is `%until`, and only in brief jobs; for those of the
; pool there is no such time. Called and left under the lock, which is released meanwhile. The last thread to leave a job
; without chunks ends it.
define internal i1 @take_part(ptr %pool, i64 %until) {
entry:
  %head.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 3
  %job = load ptr, ptr %head.at
  %is.idle = icmp eq ptr %job, null
  br i1 %is.idle, label %nothing, label %look
look:
  %next = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  %taken = load atomic i64, ptr %next monotonic, align 8
  %total.at = getelementptr inbounds %job, ptr %job, i32 0, i32 3
  %total = load i64, ptr %total.at
  %is.left = icmp slt i64 %taken, %total
  %users.at = getelementptr inbounds %job, ptr %job, i32 0, i32 6
  %users = load i32, ptr %users.at
  %most.at = getelementptr inbounds %job, ptr %job, i32 0, i32 11
  %most = load i32, ptr %most.at
  %is.free = icmp slt i32 %users, %most
  %brief.at = getelementptr inbounds %job, ptr %job, i32 0, i32 12
  %brief = load i32, ptr %brief.at
  %is.brief = icmp ne i32 %brief, 0
  %is.of.pool = icmp eq i64 %until, 9223372036854775807
  %is.allowed = or i1 %is.brief, %is.of.pool
  %is.usable = and i1 %is.free, %is.allowed
  %is.some = and i1 %is.left, %is.usable
  %is.unused = icmp eq i32 %users, 0
  %is.none = xor i1 %is.left, true
  %is.cancelled = and i1 %is.unused, %is.none
  %is.open = or i1 %is.some, %is.cancelled
  br i1 %is.open, label %enter, label %nothing
enter:
  %more = add i32 %users, 1
  store i32 %more, ptr %users.at
  %began.at = getelementptr inbounds %job, ptr %job, i32 0, i32 8
  %began = load i64, ptr %began.at
  %is.first = icmp eq i64 %began, 0
  br i1 %is.first, label %begin, label %run
begin:
  %start = call i64 @now()
  store i64 %start, ptr %began.at
  br label %run
run:
  call void @unlock(ptr %pool)
  call void @run_chunks(ptr %job, i64 %until)
  call void @lock(ptr %pool)
  %now.users = load i32, ptr %users.at
  %fewer = sub i32 %now.users, 1
  store i32 %fewer, ptr %users.at
  %now.taken = load atomic i64, ptr %next monotonic, align 8
  %is.whole = icmp sge i64 %now.taken, %total
  %is.alone = icmp eq i32 %fewer, 0
  %is.last = and i1 %is.whole, %is.alone
  br i1 %is.last, label %end, label %some
end:
  %stop = call i64 @now()
  %ended.at = getelementptr inbounds %job, ptr %job, i32 0, i32 9
  store i64 %stop, ptr %ended.at
  %state.at = getelementptr inbounds %job, ptr %job, i32 0, i32 7
  %following.at = getelementptr inbounds %job, ptr %job, i32 0, i32 10
  %following = load ptr, ptr %following.at
  store ptr %following, ptr %head.at
  store atomic i32 1, ptr %state.at monotonic, align 4
  %done = getelementptr inbounds %pool, ptr %pool, i32 0, i32 2
  call void @wake_all(ptr %done)
  %is.empty = icmp eq ptr %following, null
  br i1 %is.empty, label %empty, label %go.on
empty:
  %tail.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 4
  store ptr null, ptr %tail.at
  br label %some
go.on:
  %work = getelementptr inbounds %pool, ptr %pool, i32 0, i32 1
  call void @wake_all(ptr %work)
  br label %some
some:
  ret i1 true
nothing:
  ret i1 false
}

; What a thread of the pool does until the pool is stopped.
define void @work(ptr %pool) {
entry:
  %stop.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 5
  %work = getelementptr inbounds %pool, ptr %pool, i32 0, i32 1
  call void @lock(ptr %pool)
  br label %look
look:
  %took = call i1 @take_part(ptr %pool, i64 9223372036854775807)
  br i1 %took, label %look, label %idle
idle:
  %stop = load i32, ptr %stop.at
  %is.stopped = icmp ne i32 %stop, 0
  br i1 %is.stopped, label %leave, label %sleep
sleep:
  call void @sleep(ptr %work, ptr %pool)
  br label %look
leave:
  call void @unlock(ptr %pool)
  ret void
}

; Appends a job.
define void @submit(ptr %pool, ptr %job) {
entry:
  call void @lock(ptr %pool)
  %tail.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 4
  %tail = load ptr, ptr %tail.at
  store ptr %job, ptr %tail.at
  %is.empty = icmp eq ptr %tail, null
  br i1 %is.empty, label %first, label %behind
first:
  %head.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 3
  store ptr %job, ptr %head.at
  %work = getelementptr inbounds %pool, ptr %pool, i32 0, i32 1
  %most.at = getelementptr inbounds %job, ptr %job, i32 0, i32 11
  %most = load i32, ptr %most.at
  %is.one = icmp eq i32 %most, 1
  br i1 %is.one, label %one, label %all
one:
  call void @wake_one(ptr %work)
  br label %end
all:
  call void @wake_all(ptr %work)
  br label %end
behind:
  %following.at = getelementptr inbounds %job, ptr %tail, i32 0, i32 10
  store ptr %job, ptr %following.at
  br label %end
end:
  call void @unlock(ptr %pool)
  ret void
}

; Waits until a job has ended, or a time has come: whether it has ended. The time is given in two ways: as seconds and
; nanoseconds of the system's clock, and as milliseconds from now. A thread that takes part, and finds no chunk any more,
; looks for 20 microseconds before it sleeps: others do their last chunks then, and it takes as long to wake a thread.
define i32 @await(ptr %pool, ptr %job, i32 %takes_part, i64 %seconds, i64 %nanoseconds, i32 %milliseconds) {
entry:
  %state.at = getelementptr inbounds %job, ptr %job, i32 0, i32 7
  %done = getelementptr inbounds %pool, ptr %pool, i32 0, i32 2
  %helps = icmp ne i32 %takes_part, 0
  %time = call i64 @now()
  %wide = zext i32 %milliseconds to i64
  %duration = mul i64 %wide, 1000000
  %until = add i64 %time, %duration
  call void @lock(ptr %pool)
  br label %look
look:
  %state = load i32, ptr %state.at
  %has.ended = icmp ne i32 %state, 0
  br i1 %has.ended, label %leave, label %help
help:
  br i1 %helps, label %take, label %sleep
take:
  %took = call i1 @take_part(ptr %pool, i64 %until)
  %later = call i64 @now()
  br i1 %took, label %took.part, label %none
took.part:
  %is.time = icmp sge i64 %later, %until
  br i1 %is.time, label %leave, label %look
none:
  %soon = add i64 %later, 20000
  call void @unlock(ptr %pool)
  br label %spin
spin:
  %seen = load atomic i32, ptr %state.at monotonic, align 4
  %spin.time = call i64 @now()
  %is.soon = icmp slt i64 %spin.time, %soon
  %is.open = icmp eq i32 %seen, 0
  %spins = and i1 %is.soon, %is.open
  br i1 %spins, label %spin, label %spun
spun:
  call void @lock(ptr %pool)
  %last.state = load i32, ptr %state.at
  %has.ended.now = icmp ne i32 %last.state, 0
  br i1 %has.ended.now, label %leave, label %sleep
sleep:
  %is.late = call i1 @sleep_until(ptr %done, ptr %pool, i64 %seconds, i64 %nanoseconds, i32 %milliseconds)
  br i1 %is.late, label %leave, label %look
leave:
  %last = load i32, ptr %state.at
  call void @unlock(ptr %pool)
  ret i32 %last
}

; Whether a job has ended; what it wrote is seen then.
define i32 @has_ended(ptr %pool, ptr %job) {
entry:
  %state.at = getelementptr inbounds %job, ptr %job, i32 0, i32 7
  call void @lock(ptr %pool)
  %state = load i32, ptr %state.at
  call void @unlock(ptr %pool)
  ret i32 %state
}

; Leaves out what no thread has taken yet of a job.
define void @cancel(ptr %pool, ptr %job) {
entry:
  call void @lock(ptr %pool)
  %total.at = getelementptr inbounds %job, ptr %job, i32 0, i32 3
  %total = load i64, ptr %total.at
  %next = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  store atomic i64 %total, ptr %next monotonic, align 8
  call void @unlock(ptr %pool)
  ret void
}

; Ends the threads of a pool without jobs.
define void @stop(ptr %pool) {
entry:
  call void @lock(ptr %pool)
  %stop.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 5
  store i32 1, ptr %stop.at
  %work = getelementptr inbounds %pool, ptr %pool, i32 0, i32 1
  call void @wake_all(ptr %work)
  call void @unlock(ptr %pool)
  ret void
}

; A kernel that sets bytes: its arguments are an address and the byte, and a workgroup is one byte.
define void @fill(ptr %args, ptr %grid, i64 %begin, i64 %end) {
entry:
  %memory = load ptr, ptr %args
  %byte.at = getelementptr inbounds i8, ptr %args, i64 8
  %byte = load i8, ptr %byte.at
  %first = getelementptr inbounds i8, ptr %memory, i64 %begin
  %size = sub i64 %end, %begin
  call void @llvm.memset.p0.i64(ptr %first, i8 %byte, i64 %size, i1 false)
  ret void
}

; The same for all bytes of a launch.
define void @fill_whole(ptr %launch) {
entry:
  %args = load ptr, ptr %launch
  %total.at = getelementptr inbounds i8, ptr %launch, i64 16
  %total = load i64, ptr %total.at
  call void @fill(ptr %args, ptr null, i64 0, i64 %total)
  ret void
}

; Calls functions with their launches, one after the other: pairs of addresses.
define void @replay(ptr %steps, i64 %count) {
entry:
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %step ]
  %is.left = icmp slt i64 %n, %count
  br i1 %is.left, label %step, label %end
step:
  %function.at = getelementptr inbounds { ptr, ptr }, ptr %steps, i64 %n, i32 0
  %function = load ptr, ptr %function.at
  %launch.at = getelementptr inbounds { ptr, ptr }, ptr %steps, i64 %n, i32 1
  %launch = load ptr, ptr %launch.at
  call void %function(ptr %launch)
  %next = add i64 %n, 1
  br label %look
end:
  ret void
}

declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
