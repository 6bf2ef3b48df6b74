import { setImmediate } from 'node:timers/promises'

/** Returns the process warnings emitted while `run` runs. */
export async function warningsOf(run: () => unknown): Promise<string[]> {
  const lines: string[] = []
  const listen = (warning: Error & { code?: string }) => lines.push(`${warning.code}: ${warning.message}`)
  await setImmediate() // warnings are emitted one tick late: let earlier ones pass
  process.on('warning', listen)
  try {
    await run()
    await setImmediate()
  } finally {
    process.off('warning', listen)
  }
  return lines
}
