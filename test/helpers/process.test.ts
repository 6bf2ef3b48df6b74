import { expect, it } from 'vitest'
import { startNode } from './process.ts'

it('printed() rejects when the program is killed', async () => {
  const started = startNode(['--eval', "console.log('ready'); setInterval(() => {}, 1000)"])
  await started.printed(/ready/)
  const printed = expect(started.printed(/never/)).rejects.toThrow(
    'the program exited without printing /never/:\nready',
  )
  await started.stop('SIGKILL')
  await printed
})
