import { setImmediate } from 'node:timers/promises'

/** The process warnings while something runs. */
export async function warningsOf(run: () => unknown): Promise<string[]> {
  const lines: string[] = []
  const listen = (warning: Error & { code?: string }) => lines.push(`${warning.code}: ${warning.message}`)
  await setImmediate() // a warning is emitted a tick late: those from before are not ours
  process.on('warning', listen)
  try {
    await run()
    await setImmediate()
  } finally {
    process.off('warning', listen)
  }
  return lines
}
