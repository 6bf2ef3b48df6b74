import { lock } from '../../src/cli/mock/lock.ts'

/** Locks a file at a given time and reports whether it holds the lock. Releases it on request. */
let release: (() => Promise<void>) | undefined

process.on('message', async ({ take, at }: { take?: string; at: number }) => {
  if (take === undefined) {
    await release?.()
    release = undefined
    process.send?.('released')
    return
  }
  while (Date.now() < at); // all processes start in the same millisecond
  release = await lock(take).catch(() => undefined)
  process.send?.(release ? 'owner' : 'refused')
})
process.send?.('ready')
