import { lock } from '../../src/cli/mock/lock.ts'

/** A process that takes a file at a given moment, says whether it got it, and gives it back when it is told to. */
let release: (() => Promise<void>) | undefined

process.on('message', async ({ take, at }: { take?: string; at: number }) => {
  if (take === undefined) {
    await release?.()
    release = undefined
    process.send?.('released')
    return
  }
  while (Date.now() < at); // all of them begin in the same millisecond
  release = await lock(take).catch(() => undefined)
  process.send?.(release ? 'owner' : 'refused')
})
process.send?.('ready')
