import { describe, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { startProgram } from '../helpers/process.ts'
import { hasProgram } from '../helpers/programs.ts'
import { checkUrl, expectConforms, expectFinds, type Finds } from './check-flawed.ts'
import { PYTHON_FLAWS } from './python/flaws.ts'

/** Starts a receiver written in Python, and checks it. */
async function checkPython(args: string[], finds: Partial<Finds>) {
  const app = startProgram('python3', args.with(0, `test/check/python/${args[0]}`), { SIGNATURE_KEY: KEY })
  try {
    const [, url = ''] = await app.printed(/listening on (\S+)/)
    const count = (name: string): number =>
      app.stdout.split('\n').filter((line) => line === `handled ${name}`).length
    return await checkUrl(url, count, finds)
  } finally {
    await app.stop()
  }
}

describe.skipIf(!hasProgram('python3'))('Python', () => {
  it('finds nothing wrong in a correct receiver', async () => {
    expectConforms(await checkPython(['receiver.py'], { hasSideEffects: true }))
  })

  it.concurrent.each(Object.entries(PYTHON_FLAWS))('finds the receiver %s', async (name, finds) => {
    expectFinds(await checkPython(['flaws.py', name], finds), finds)
  })
})
