const FIRST = 1_000
const ON_TERMINAL = 250
const ELSEWHERE = 5_000

/** Tells on the standard error what takes so long. */
export interface Progress {
  /** Changes the text. */
  update(text: string): void
  /** Makes room for a line of output. */
  clear(): void
  stop(): void
}

/**
 * Begins to tell after one second: on a terminal a line that is rewritten, elsewhere a line every five seconds.
 *
 * @param quiet says nothing at all: whoever asks for JSON reads errors, and nothing else, from the standard error
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
    timer = setTimeout(show, stderr.isTTY ? ON_TERMINAL : ELSEWHERE).unref()
  }

  function clear(): void {
    if (isShown && stderr.isTTY) stderr.write('\r\u001b[2K')
    isShown = false
  }

  if (!quiet) timer = setTimeout(show, FIRST).unref()
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

/** Tells about a task while it runs. */
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
