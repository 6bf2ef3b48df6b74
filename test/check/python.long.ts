import type { CheckReport } from 'geohook/check'
import { describe, it } from 'vitest'
import { hasProgram } from '../helpers/programs.ts'
import { checkUrl, expectConforms, expectFinds } from './expectations.ts'
import { PYTHON_FLAWS } from './python/flaws.ts'
import { startPython } from './python/start.ts'

async function check(sideEffects: boolean, ...args: Parameters<typeof startPython>): Promise<CheckReport> {
  const { url, observer, stop } = await startPython(...args)
  try {
    return await checkUrl(url, { observer, sideEffects })
  } finally {
    await stop()
  }
}

describe.skipIf(!hasProgram('python3'))('Python', () => {
  it('finds nothing wrong in a correct receiver', async () => {
    expectConforms(await check(true, 'receiver.py'))
  })

  it.concurrent.each(Object.entries(PYTHON_FLAWS))('finds only the flaw of %s', async (name, finds) => {
    expectFinds(await check(finds.hasSideEffects ?? false, 'flaws.py', name), finds)
  })
})
