/** Milliseconds until the first report. The intervals are the milliseconds between later reports. */
const DELAY = 1_000
const TERMINAL_INTERVAL = 250
const LOG_INTERVAL = 5_000

/** Periodically reports on standard error how long a task has been running. */
export interface Progress {
  /** Changes the text of subsequent reports. */
  update(text: string): void
  /** Removes the report from the terminal. Call this before printing a line of output. */
  clear(): void
  stop(): void
}

/**
 * Starts to report progress after one second. A terminal shows one line, which is updated in place; any other output
 * gets a new line every five seconds.
 *
 * @param quiet disables the reports, for `--json`: standard error then contains only errors
 */
export function startProgress(text: string, quiet: boolean): Progress {
  const { stderr } = process
  const started = Date.now()
  let current = text
  let isShown = false
  let timer: NodeJS.Timeout | undefined

  function show(): void {
    const line = `${current} (${Math.round((Date.now() - started) / 1_000)} s)`
    stderr.write(stderr.isTTY ? `\r\u001b[2K${line}` : `${line}\n`)
    isShown = true
    timer = setTimeout(show, stderr.isTTY ? TERMINAL_INTERVAL : LOG_INTERVAL).unref()
  }

  function clear(): void {
    if (isShown && stderr.isTTY) stderr.write('\r\u001b[2K')
    isShown = false
  }

  if (!quiet) timer = setTimeout(show, DELAY).unref()
  return {
    update(next) {
      current = next
    },
    clear,
    stop() {
      clearTimeout(timer)
      clear()
    },
  }
}

/** Reports the progress of a task until it settles. */
export async function withProgress<T>(
  text: string,
  quiet: boolean,
  task: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = startProgress(text, quiet)
  try {
    return await task(progress)
  } finally {
    progress.stop()
  }
}
