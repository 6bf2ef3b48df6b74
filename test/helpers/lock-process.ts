import { lock } from '../../src/cli/io/replace-file.ts'

// This child process locks a file at a given time, reports whether it got the lock, and releases it on request.

let release: (() => Promise<void>) | undefined

process.on('message', async ({ take, at }: { take?: string; at: number }) => {
  if (take === undefined) {
    await release?.()
    release = undefined
    process.send?.('released')
    return
  }
  while (Date.now() < at); // so that all processes try to lock the file in the same millisecond
  release = await lock(take).catch(() => undefined)
  process.send?.(release ? 'owner' : 'refused')
})
process.send?.('ready')
