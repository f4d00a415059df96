; What the runtime asks of Windows. Locks and condition variables that are all zeros are initialized.

declare void @AcquireSRWLockExclusive(ptr)
declare void @ReleaseSRWLockExclusive(ptr)
declare i32 @SleepConditionVariableSRW(ptr, ptr, i32, i32)
declare void @WakeConditionVariable(ptr)
declare void @WakeAllConditionVariable(ptr)
declare i32 @QueryPerformanceCounter(ptr)
declare i32 @QueryPerformanceFrequency(ptr)

define internal void @lock(ptr %mutex) {
  call void @AcquireSRWLockExclusive(ptr %mutex)
  ret void
}

define internal void @unlock(ptr %mutex) {
  call void @ReleaseSRWLockExclusive(ptr %mutex)
  ret void
}

define internal void @sleep(ptr %condition, ptr %mutex) {
  %1 = call i32 @SleepConditionVariableSRW(ptr %condition, ptr %mutex, i32 -1, i32 0)
  ret void
}

; Whether the time has come.
define internal i1 @sleep_until(ptr %condition, ptr %mutex, i64 %seconds, i64 %nanoseconds, i32 %milliseconds) {
  %was.woken = call i32 @SleepConditionVariableSRW(ptr %condition, ptr %mutex, i32 %milliseconds, i32 0)
  %is.late = icmp eq i32 %was.woken, 0
  ret i1 %is.late
}

define internal void @wake_one(ptr %condition) {
  call void @WakeConditionVariable(ptr %condition)
  ret void
}

define internal void @wake_all(ptr %condition) {
  call void @WakeAllConditionVariable(ptr %condition)
  ret void
}

; Nanoseconds of a clock that never goes back: the ticks are whole numbers of them, or nearly.
define internal i64 @now() {
  %ticks.at = alloca i64
  %frequency.at = alloca i64
  %1 = call i32 @QueryPerformanceCounter(ptr %ticks.at)
  %2 = call i32 @QueryPerformanceFrequency(ptr %frequency.at)
  %ticks = load i64, ptr %ticks.at
  %frequency = load i64, ptr %frequency.at
  %seconds = udiv i64 %ticks, %frequency
  %rest = urem i64 %ticks, %frequency
  %3 = mul i64 %rest, 1000000000
  %4 = udiv i64 %3, %frequency
  %5 = mul i64 %seconds, 1000000000
  %6 = add i64 %5, %4
  ret i64 %6
}
