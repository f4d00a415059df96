; The queue of launches and the threads that work on it.
;
; A launch is a `%job`: a kernel over `total` workgroups from `first` on, in as many shares as the pool has threads. A
; thread takes chunks of its own share, by an atomic counter, and then of the others. So a core mostly has the same share of
; the next launch, whose data is in its cache. Jobs run in the order in which they were submitted: the head of the list runs
; until its last chunk has ended, then the next. Everything but the counters is guarded by one mutex. Threads come from
; Python and stay in `@work`; a thread that waits for a job may take part in it, and leaves between two chunks when its time
; has come.
;
; The first lines, which differ from system to system, define @lock, @unlock, @sleep, @sleep_until, @wake_one, @wake_all
; and @now: see `runtime.py`. The memory of a pool and of jobs belongs to Python.

;                next is.taken
%share = type { i64, i64 }
;              fn   args grid total chunk shares count users state began ended following most brief awaited first
%job  = type { ptr, ptr, ptr, i64,  i64,  ptr,   i64,  i32,  i32,  i64,  i64,  ptr,      i32, i32,  i32,    i64 }
;              ask  save restore signals call release callable state next stop interval
%host = type { ptr, ptr, ptr,    ptr,    ptr, ptr,    ptr,     ptr,  i64, ptr, i64 }
;              mutex       work        done        head tail stop heads polling
%pool = type { [128 x i8], [128 x i8], [128 x i8], ptr, ptr, i32, i32,  i32 }

; The first workgroup of a share.
define internal i64 @first_of(ptr %job, i64 %share) {
  %total.at = getelementptr inbounds %job, ptr %job, i32 0, i32 3
  %total = load i64, ptr %total.at
  %count.at = getelementptr inbounds %job, ptr %job, i32 0, i32 6
  %count = load i64, ptr %count.at
  %whole = udiv i64 %total, %count
  %rest = urem i64 %total, %count
  %most = mul i64 %whole, %share
  %of.rest = mul i64 %rest, %share
  %more = udiv i64 %of.rest, %count
  %first = add i64 %most, %more
  ret i64 %first
}

; Whether there is something left to take of a job.
define internal i1 @is_left(ptr %job) {
entry:
  %shares.at = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  %shares = load ptr, ptr %shares.at
  %count.at = getelementptr inbounds %job, ptr %job, i32 0, i32 6
  %count = load i64, ptr %count.at
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %following, %share ]
  %is.one = icmp ult i64 %n, %count
  br i1 %is.one, label %share, label %end
share:
  %next.at = getelementptr inbounds %share, ptr %shares, i64 %n, i32 0
  %next = load atomic i64, ptr %next.at monotonic, align 8
  %following = add i64 %n, 1
  %stop = call i64 @first_of(ptr %job, i64 %following)
  %is.left = icmp slt i64 %next, %stop
  br i1 %is.left, label %end, label %look
end:
  %found = phi i1 [ false, %look ], [ true, %share ]
  ret i1 %found
}

; Takes a share for a thread: its own, or if another has it the first that no thread has. Called under the lock, by fewer
; threads than there are shares.
define internal i64 @take_share(ptr %job, i64 %own) {
entry:
  %shares.at = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  %shares = load ptr, ptr %shares.at
  br label %look
look:
  %share = phi i64 [ %own, %entry ], [ %other, %next ]
  %other = phi i64 [ 0, %entry ], [ %following, %next ]
  %taken.at = getelementptr inbounds %share, ptr %shares, i64 %share, i32 1
  %taken = load i64, ptr %taken.at
  %is.free = icmp eq i64 %taken, 0
  br i1 %is.free, label %take, label %next
next:
  %following = add i64 %other, 1
  br label %look
take:
  store i64 1, ptr %taken.at
  ret i64 %share
}

; Runs chunks of a job, first those of a share, until none is left, or the time is `%until`.
define internal void @run_chunks(ptr %job, i64 %own, i64 %until) {
entry:
  %fn.at = getelementptr inbounds %job, ptr %job, i32 0, i32 0
  %fn = load ptr, ptr %fn.at
  %args.at = getelementptr inbounds %job, ptr %job, i32 0, i32 1
  %args = load ptr, ptr %args.at
  %grid.at = getelementptr inbounds %job, ptr %job, i32 0, i32 2
  %grid = load ptr, ptr %grid.at
  %chunk.at = getelementptr inbounds %job, ptr %job, i32 0, i32 4
  %chunk = load i64, ptr %chunk.at
  %shares.at = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  %shares = load ptr, ptr %shares.at
  %count.at = getelementptr inbounds %job, ptr %job, i32 0, i32 6
  %count = load i64, ptr %count.at
  %first.at = getelementptr inbounds %job, ptr %job, i32 0, i32 15
  %first = load i64, ptr %first.at
  %is.unlimited = icmp eq i64 %until, 9223372036854775807
  br label %begin.share
begin.share:
  %share = phi i64 [ %own, %entry ], [ %after, %empty ]
  %done = phi i64 [ 0, %entry ], [ %more.done, %empty ]
  %following = add i64 %share, 1
  %stop = call i64 @first_of(ptr %job, i64 %following)
  %next = getelementptr inbounds %share, ptr %shares, i64 %share, i32 0
  br label %take
take:
  %begin = atomicrmw add ptr %next, i64 %chunk monotonic
  %is.some = icmp slt i64 %begin, %stop
  br i1 %is.some, label %run, label %empty
run:
  %left = sub i64 %stop, %begin
  %size = call i64 @llvm.smin.i64(i64 %left, i64 %chunk)
  %from = add i64 %begin, %first
  %to = add i64 %from, %size
  call void %fn(ptr %args, ptr %grid, i64 %from, i64 %to)
  br i1 %is.unlimited, label %take, label %look
look:
  %time = call i64 @now()
  %is.time = icmp sge i64 %time, %until
  br i1 %is.time, label %none, label %take
empty:
  %is.last = icmp eq i64 %following, %count
  %after = select i1 %is.last, i64 0, i64 %following
  %more.done = add i64 %done, 1
  %is.all = icmp eq i64 %more.done, %count
  br i1 %is.all, label %none, label %begin.share
none:
  ret void
}

; Takes part in the job at the head, if there is something left to take, and fewer than `most` threads take part: whether
; it was so. `%own` is the share that the thread takes, if it can. A thread that waits does so until the time is `%until`,
; and only in brief jobs; for those of the pool there is no such time. Called and left under the lock, which is released
; meanwhile. The last thread to leave a job without chunks ends it. One that leaves others behind wakes a thread of the pool.
define internal i1 @take_part(ptr %pool, i64 %own, i64 %until) {
entry:
  %head.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 3
  %job = load ptr, ptr %head.at
  %is.idle = icmp eq ptr %job, null
  br i1 %is.idle, label %nothing, label %look
look:
  %is.left = call i1 @is_left(ptr %job)
  %users.at = getelementptr inbounds %job, ptr %job, i32 0, i32 7
  %users = load i32, ptr %users.at
  %most.at = getelementptr inbounds %job, ptr %job, i32 0, i32 12
  %most = load i32, ptr %most.at
  %is.free = icmp slt i32 %users, %most
  %brief.at = getelementptr inbounds %job, ptr %job, i32 0, i32 13
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
  %share = call i64 @take_share(ptr %job, i64 %own)
  %more = add i32 %users, 1
  store i32 %more, ptr %users.at
  %began.at = getelementptr inbounds %job, ptr %job, i32 0, i32 9
  %began = load i64, ptr %began.at
  %is.first = icmp eq i64 %began, 0
  br i1 %is.first, label %begin, label %run
begin:
  %start = call i64 @now()
  store i64 %start, ptr %began.at
  br label %run
run:
  call void @unlock(ptr %pool)
  call void @run_chunks(ptr %job, i64 %share, i64 %until)
  call void @lock(ptr %pool)
  %shares.at = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  %shares = load ptr, ptr %shares.at
  %taken.at = getelementptr inbounds %share, ptr %shares, i64 %share, i32 1
  store i64 0, ptr %taken.at
  %now.users = load i32, ptr %users.at
  %fewer = sub i32 %now.users, 1
  store i32 %fewer, ptr %users.at
  %is.left.now = call i1 @is_left(ptr %job)
  br i1 %is.left.now, label %leave, label %whole
leave:
  %work = getelementptr inbounds %pool, ptr %pool, i32 0, i32 1
  call void @wake_one(ptr %work)
  br label %some
whole:
  %is.last = icmp eq i32 %fewer, 0
  br i1 %is.last, label %end, label %some
end:
  %stop = call i64 @now()
  %ended.at = getelementptr inbounds %job, ptr %job, i32 0, i32 10
  store i64 %stop, ptr %ended.at
  %state.at = getelementptr inbounds %job, ptr %job, i32 0, i32 8
  %following.at = getelementptr inbounds %job, ptr %job, i32 0, i32 11
  %following = load ptr, ptr %following.at
  store ptr %following, ptr %head.at
  store atomic i32 1, ptr %state.at monotonic, align 4
  %awaited.at = getelementptr inbounds %job, ptr %job, i32 0, i32 14
  %awaited = load i32, ptr %awaited.at
  %is.awaited = icmp ne i32 %awaited, 0
  br i1 %is.awaited, label %tell, label %follow
tell:
  %done = getelementptr inbounds %pool, ptr %pool, i32 0, i32 2
  call void @wake_all(ptr %done)
  br label %follow
follow:
  %is.empty = icmp eq ptr %following, null
  br i1 %is.empty, label %empty, label %go.on
empty:
  %tail.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 4
  store ptr null, ptr %tail.at
  br label %some
go.on:
  call void @new_head(ptr %pool, i32 -1)
  br label %some
some:
  ret i1 true
nothing:
  ret i1 false
}

; Tells threads that the list has another head: those that poll by its number, and as many that sleep as are wanted. If these
; are more than eight, or the number is negative, all are woken at once. Called under the lock, for which they wait.
define internal void @new_head(ptr %pool, i32 %wanted) {
entry:
  %heads.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 6
  %heads = load i32, ptr %heads.at
  %more = add i32 %heads, 1
  store atomic i32 %more, ptr %heads.at monotonic, align 4
  %work = getelementptr inbounds %pool, ptr %pool, i32 0, i32 1
  %is.for.all = icmp ugt i32 %wanted, 8
  br i1 %is.for.all, label %all, label %few
few:
  %woken = phi i32 [ 0, %entry ], [ %more.woken, %one ]
  %is.enough = icmp eq i32 %woken, %wanted
  br i1 %is.enough, label %end, label %one
one:
  call void @wake_one(ptr %work)
  %more.woken = add i32 %woken, 1
  br label %few
end:
  ret void
all:
  call void @wake_all(ptr %work)
  ret void
}

; What a thread of the pool does until the pool is stopped. `%own` is its number, and `%threads` is how many there are. A
; thread that has nothing left to do in a job polls for 20 microseconds whether the next one has begun, before it sleeps: most
; jobs of a sequence are short, and it takes as long to wake a thread.
define void @work(ptr %pool, i64 %own, i32 %threads) {
entry:
  %stop.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 5
  %work = getelementptr inbounds %pool, ptr %pool, i32 0, i32 1
  %head.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 3
  %heads.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 6
  %polling.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 7
  call void @lock(ptr %pool)
  br label %look
look:
  %has.polled = phi i1 [ false, %entry ], [ false, %look ], [ %is.same.head, %spun ], [ false, %sleep ]
  %took = call i1 @take_part(ptr %pool, i64 %own, i64 9223372036854775807)
  br i1 %took, label %look, label %idle
idle:
  %stop = load i32, ptr %stop.at
  %is.stopped = icmp ne i32 %stop, 0
  br i1 %is.stopped, label %leave, label %rest
rest:
  %head = load ptr, ptr %head.at
  %is.empty = icmp eq ptr %head, null
  %sleeps = or i1 %is.empty, %has.polled
  br i1 %sleeps, label %sleep, label %count
count:
  %following.at = getelementptr inbounds %job, ptr %head, i32 0, i32 11
  %following = load ptr, ptr %following.at
  %is.followed = icmp ne ptr %following, null
  %users.at = getelementptr inbounds %job, ptr %head, i32 0, i32 7
  %users = load i32, ptr %users.at
  %polling = load i32, ptr %polling.at
  %busy = add i32 %polling, %users
  %is.room = icmp slt i32 %busy, %threads
  %polls = and i1 %is.followed, %is.room
  br i1 %polls, label %poll, label %sleep
poll:
  %heads = load i32, ptr %heads.at
  %more = add i32 %polling, 1
  store i32 %more, ptr %polling.at
  call void @unlock(ptr %pool)
  %start = call i64 @now()
  %soon = add i64 %start, 20000
  br label %spin
spin:
  %seen = load atomic i32, ptr %heads.at monotonic, align 4
  %time = call i64 @now()
  %is.soon = icmp slt i64 %time, %soon
  %is.same = icmp eq i32 %seen, %heads
  %spins = and i1 %is.soon, %is.same
  br i1 %spins, label %spin, label %spun
spun:
  call void @lock(ptr %pool)
  %pollers.now = load i32, ptr %polling.at
  %fewer = sub i32 %pollers.now, 1
  store i32 %fewer, ptr %polling.at
  %heads.now = load i32, ptr %heads.at
  %is.same.head = icmp eq i32 %heads.now, %heads
  br label %look
sleep:
  call void @sleep(ptr %work, ptr %pool)
  br label %look
leave:
  call void @unlock(ptr %pool)
  ret void
}

; Appends jobs, which lie behind each other, as their shares do. `%takes_part` is 1 if the calling thread waits at once and
; takes part in brief jobs: for such a job, one thread less is woken.
define void @submit(ptr %pool, ptr %job, i64 %number, ptr %all.shares, i32 %takes_part) {
entry:
  br label %prepare
prepare:
  %k = phi i64 [ 0, %entry ], [ %k.more, %prepared ]
  %this = getelementptr inbounds %job, ptr %job, i64 %k
  %count.at = getelementptr inbounds %job, ptr %this, i32 0, i32 6
  %count = load i64, ptr %count.at
  %own.first = mul i64 %k, %count
  %shares = getelementptr inbounds %share, ptr %all.shares, i64 %own.first
  %shares.at = getelementptr inbounds %job, ptr %this, i32 0, i32 5
  store ptr %shares, ptr %shares.at
  br label %begin
begin:
  %n = phi i64 [ 0, %prepare ], [ %n.more, %begin ]
  %next = getelementptr inbounds %share, ptr %shares, i64 %n, i32 0
  %start = call i64 @first_of(ptr %this, i64 %n)
  store i64 %start, ptr %next
  %n.more = add i64 %n, 1
  %is.more = icmp ult i64 %n.more, %count
  br i1 %is.more, label %begin, label %prepared
prepared:
  %k.more = add i64 %k, 1
  %is.followed = icmp ult i64 %k.more, %number
  %behind = getelementptr inbounds %job, ptr %job, i64 %k.more
  %following = select i1 %is.followed, ptr %behind, ptr null
  %this.following.at = getelementptr inbounds %job, ptr %this, i32 0, i32 11
  store ptr %following, ptr %this.following.at
  br i1 %is.followed, label %prepare, label %append
append:
  call void @lock(ptr %pool)
  %tail.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 4
  %tail = load ptr, ptr %tail.at
  store ptr %this, ptr %tail.at
  %is.empty = icmp eq ptr %tail, null
  br i1 %is.empty, label %first, label %last
first:
  %head.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 3
  store ptr %job, ptr %head.at
  %most.at = getelementptr inbounds %job, ptr %job, i32 0, i32 12
  %most = load i32, ptr %most.at
  %brief.at = getelementptr inbounds %job, ptr %job, i32 0, i32 13
  %brief = load i32, ptr %brief.at
  %helps = and i32 %takes_part, %brief
  %wanted = sub i32 %most, %helps
  call void @new_head(ptr %pool, i32 %wanted)
  br label %end
last:
  %following.at = getelementptr inbounds %job, ptr %tail, i32 0, i32 11
  store ptr %job, ptr %following.at
  br label %end
end:
  call void @unlock(ptr %pool)
  ret void
}

; Appends a job and waits for it, as @submit and @await do.
define i32 @run(ptr %pool, ptr %job, ptr %shares, i32 %takes_part, i64 %seconds, i64 %nanoseconds, i32 %milliseconds) {
  call void @submit(ptr %pool, ptr %job, i64 1, ptr %shares, i32 %takes_part)
  %has.ended = call i32 @await(ptr %pool, ptr %job, i32 %takes_part, i64 %seconds, i64 %nanoseconds, i32 %milliseconds)
  ret i32 %has.ended
}

; Waits until a job has ended, or a time has come: whether it has ended. The time is given in two ways: as seconds and
; nanoseconds of the system's clock, and as milliseconds from now. A thread that takes part, and finds no chunk any more,
; looks for 20 microseconds before it sleeps: others do their last chunks then, and it takes as long to wake a thread.
define i32 @await(ptr %pool, ptr %job, i32 %takes_part, i64 %seconds, i64 %nanoseconds, i32 %milliseconds) {
entry:
  %state.at = getelementptr inbounds %job, ptr %job, i32 0, i32 8
  %awaited.at = getelementptr inbounds %job, ptr %job, i32 0, i32 14
  %head.at = getelementptr inbounds %pool, ptr %pool, i32 0, i32 3
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
  %head = load ptr, ptr %head.at
  %is.head = icmp eq ptr %head, %job
  %users.at = getelementptr inbounds %job, ptr %head, i32 0, i32 7
  %users = load i32, ptr %users.at
  %is.unused = icmp eq i32 %users, 0
  %is.wanted = or i1 %is.head, %is.unused
  %takes = and i1 %helps, %is.wanted
  br i1 %takes, label %take, label %sleep
take:
  %took = call i1 @take_part(ptr %pool, i64 0, i64 %until)
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
  store i32 1, ptr %awaited.at
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
  %state.at = getelementptr inbounds %job, ptr %job, i32 0, i32 8
  call void @lock(ptr %pool)
  %state = load i32, ptr %state.at
  call void @unlock(ptr %pool)
  ret i32 %state
}

; Leaves out what no thread has taken yet of a job.
define void @cancel(ptr %job) {
entry:
  %shares.at = getelementptr inbounds %job, ptr %job, i32 0, i32 5
  %shares = load ptr, ptr %shares.at
  %count.at = getelementptr inbounds %job, ptr %job, i32 0, i32 6
  %count = load i64, ptr %count.at
  %total = call i64 @first_of(ptr %job, i64 %count)
  br label %leave
leave:
  %n = phi i64 [ 0, %entry ], [ %more, %leave ]
  %next = getelementptr inbounds %share, ptr %shares, i64 %n, i32 0
  store atomic i64 %total, ptr %next monotonic, align 8
  %more = add i64 %n, 1
  %is.more = icmp ult i64 %more, %count
  br i1 %is.more, label %leave, label %end
end:
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

; Runs workgroups of a launch in the calling thread, which holds the interpreter's lock, until all have run, %duration
; nanoseconds have passed, or the launch is to end: how many have begun. The lock is given back meanwhile. The host is asked
; between workgroups, and by loops that may take long. As many workgroups run at once as take some microseconds: to look at
; the time takes longer than short ones do.
define i64 @begin(ptr %host, ptr %fn, ptr %args, ptr %grid, i64 %total, i64 %duration) {
entry:
  %stop.at = getelementptr inbounds i8, ptr %grid, i64 12
  %host.at = getelementptr inbounds i8, ptr %grid, i64 16
  store ptr %host, ptr %host.at
  %host.stop.at = getelementptr inbounds %host, ptr %host, i32 0, i32 9
  store ptr %stop.at, ptr %host.stop.at
  call void @give_lock(ptr %host)
  %start = call i64 @now()
  %until = add i64 %start, %duration
  %next.at = getelementptr inbounds %host, ptr %host, i32 0, i32 8
  %interval.at = getelementptr inbounds %host, ptr %host, i32 0, i32 10
  %interval = load i64, ptr %interval.at
  %first.question = add i64 %start, %interval
  store i64 %first.question, ptr %next.at
  br label %round
round:
  %number = phi i64 [ 0, %entry ], [ %following, %ask ]
  %several = phi i64 [ 1, %entry ], [ %adapted, %ask ]
  %began = phi i64 [ %start, %entry ], [ %time, %ask ]
  %ahead = add i64 %number, %several
  %is.within = icmp slt i64 %ahead, %total
  %following = select i1 %is.within, i64 %ahead, i64 %total
  call void %fn(ptr %args, ptr %grid, i64 %number, i64 %following)
  %is.more = icmp slt i64 %following, %total
  %is.stopped = load atomic i32, ptr %stop.at monotonic, align 4
  %goes.on = icmp eq i32 %is.stopped, 0
  %is.open = and i1 %is.more, %goes.on
  br i1 %is.open, label %look, label %end
look:
  %time = call i64 @now()
  %taken = sub i64 %time, %began
  %is.brief = icmp slt i64 %taken, 5000
  %twice = shl i64 %several, 1
  %is.long = icmp sgt i64 %taken, 20000
  %half = lshr i64 %several, 1
  %is.one = icmp eq i64 %half, 0
  %fewer = select i1 %is.one, i64 1, i64 %half
  %at.most = select i1 %is.long, i64 %fewer, i64 %several
  %adapted = select i1 %is.brief, i64 %twice, i64 %at.most
  %is.time = icmp sge i64 %time, %until
  br i1 %is.time, label %end, label %ask
ask:
  %answer = call i32 @ask(ptr %host)
  %is.none = icmp eq i32 %answer, 0
  br i1 %is.none, label %round, label %end
end:
  call void @take_lock(ptr %host)
  store ptr null, ptr %host.at
  ret i64 %following
}

; Whether a launch is to end, of which @begin runs workgroups. At the interval of %host, in nanoseconds, it takes the
; interpreter's lock, lets the interpreter handle signals, and calls what the host has given. An error of these ends the
; launch, and is left to the caller of @begin.
define i32 @ask(ptr %host) {
entry:
  %next.at = getelementptr inbounds %host, ptr %host, i32 0, i32 8
  %next = load i64, ptr %next.at
  %time = call i64 @now()
  %is.time = icmp sge i64 %time, %next
  br i1 %is.time, label %look, label %go.on
go.on:
  ret i32 0
look:
  %interval.at = getelementptr inbounds %host, ptr %host, i32 0, i32 10
  %interval = load i64, ptr %interval.at
  %later = add i64 %time, %interval
  store i64 %later, ptr %next.at
  call void @take_lock(ptr %host)
  %signals.at = getelementptr inbounds %host, ptr %host, i32 0, i32 3
  %signals = load ptr, ptr %signals.at
  %status = call i32 %signals()
  %is.well = icmp eq i32 %status, 0
  br i1 %is.well, label %question, label %fail
question:
  %call.at = getelementptr inbounds %host, ptr %host, i32 0, i32 4
  %call = load ptr, ptr %call.at
  %callable.at = getelementptr inbounds %host, ptr %host, i32 0, i32 6
  %callable = load ptr, ptr %callable.at
  %object = call ptr %call(ptr %callable)
  %is.object = icmp ne ptr %object, null
  br i1 %is.object, label %well, label %fail
well:
  %release.at = getelementptr inbounds %host, ptr %host, i32 0, i32 5
  %release = load ptr, ptr %release.at
  call void %release(ptr %object)
  br label %end
fail:
  %stop.at.at = getelementptr inbounds %host, ptr %host, i32 0, i32 9
  %stop.at = load ptr, ptr %stop.at.at
  store atomic i32 1, ptr %stop.at monotonic, align 4
  br label %end
end:
  %answer = phi i32 [ 0, %well ], [ 1, %fail ]
  call void @give_lock(ptr %host)
  ret i32 %answer
}

define internal void @give_lock(ptr %host) {
  %save.at = getelementptr inbounds %host, ptr %host, i32 0, i32 1
  %save = load ptr, ptr %save.at
  %state = call ptr %save()
  %state.at = getelementptr inbounds %host, ptr %host, i32 0, i32 7
  store ptr %state, ptr %state.at
  ret void
}

define internal void @take_lock(ptr %host) {
  %restore.at = getelementptr inbounds %host, ptr %host, i32 0, i32 2
  %restore = load ptr, ptr %restore.at
  %state.at = getelementptr inbounds %host, ptr %host, i32 0, i32 7
  %state = load ptr, ptr %state.at
  call void %restore(ptr %state)
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
