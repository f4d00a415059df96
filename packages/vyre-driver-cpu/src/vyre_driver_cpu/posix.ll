; What the runtime asks of a POSIX system. A pool begins with its mutex.

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @clock_gettime(i32, ptr)

define internal void @lock(ptr %mutex) {
  %1 = call i32 @pthread_mutex_lock(ptr %mutex)
  ret void
}

define internal void @unlock(ptr %mutex) {
  %1 = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

define internal void @sleep(ptr %condition, ptr %mutex) {
  %1 = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  ret void
}

; Whether the time has come.
define internal i1 @sleep_until(ptr %condition, ptr %mutex, i64 %seconds, i64 %nanoseconds, i32 %milliseconds) {
  %time = alloca { i64, i64 }
  store i64 %seconds, ptr %time
  %rest = getelementptr inbounds { i64, i64 }, ptr %time, i32 0, i32 1
  store i64 %nanoseconds, ptr %rest
  %status = call i32 @pthread_cond_timedwait(ptr %condition, ptr %mutex, ptr %time)
  %is.late = icmp ne i32 %status, 0
  ret i1 %is.late
}

define internal void @wake_one(ptr %condition) {
  %1 = call i32 @pthread_cond_signal(ptr %condition)
  ret void
}

define internal void @wake_all(ptr %condition) {
  %1 = call i32 @pthread_cond_broadcast(ptr %condition)
  ret void
}

; Nanoseconds of a clock that never goes back; CLOCK_MONOTONIC stands for its number.
define internal i64 @now() {
  %time = alloca { i64, i64 }
  %1 = call i32 @clock_gettime(i32 CLOCK_MONOTONIC, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr inbounds { i64, i64 }, ptr %time, i32 0, i32 1
  %rest = load i64, ptr %rest.at
  %2 = mul i64 %seconds, 1000000000
  %3 = add i64 %2, %rest
  ret i64 %3
}
