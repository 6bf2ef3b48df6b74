/**
 * Milliseconds in which further signals count as the same one. On Ctrl-C, the terminal signals every process of the
 * foreground group, and programs like tsx forward the signal to their child once more.
 */
const REPEAT_WINDOW = 1_000

/**
 * Calls `listener` once, on the first SIGTERM or SIGINT (Ctrl-C). A signal that follows later than `REPEAT_WINDOW`
 * terminates the process immediately.
 */
export function onStopSignal(listener: () => void): void {
  let isStopping = false
  function stop(): void {
    if (isStopping) return
    isStopping = true
    setTimeout(() => process.off('SIGTERM', stop).off('SIGINT', stop), REPEAT_WINDOW).unref()
    listener()
  }
  process.on('SIGTERM', stop).on('SIGINT', stop)
}
