import { setImmediate } from 'node:timers/promises'

/** Runs `run`, and returns the process warnings that it emits. */
export async function warningsOf(run: () => unknown): Promise<string[]> {
  const lines: string[] = []
  const listen = (warning: Error & { code?: string }) => lines.push(`${warning.code}: ${warning.message}`)
  await setImmediate() // Node emits warnings one tick late, so earlier warnings arrive here
  process.on('warning', listen)
  try {
    await run()
    await setImmediate()
  } finally {
    process.off('warning', listen)
  }
  return lines
}
