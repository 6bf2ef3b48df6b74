import type { CheckReport } from 'geohook/check'
import { describe, it, vi } from 'vitest'
import { hasProgram } from '../helpers/programs.ts'
import { checkUrl, expectConforms, expectFinds } from './expectations.ts'
import { PYTHON_FLAWS } from './python/flaws.ts'
import { startPython } from './python/start.ts'

async function check(sideEffects: boolean, ...args: Parameters<typeof startPython>): Promise<CheckReport> {
  const { url, observer, failHandler, stop } = await startPython(...args)
  try {
    return await checkUrl(url, { observer, failHandler, unknownUrl: `${url}/unknown`, sideEffects })
  } finally {
    await stop()
  }
}

describe.skipIf(!hasProgram('python3'))('Python', () => {
  it('finds nothing wrong in a correct receiver', async () => {
    expectConforms(await check(true, 'receiver.py'))
  })

  it('finds that an unknown tenant takes less time', async () => {
    const { url, stop } = await startPython('flaws.py', 'LooksUpTenants')
    try {
      const only = ['unknown-tenant-time']
      // Repeated, because other tests can hide the difference.
      await vi.waitFor(
        async () => {
          const report = await checkUrl(url, { unknownUrl: `${url}/unknown`, only, skip: [] })
          expectFinds(report, { fails: ['unknown-tenant-time'] })
        },
        { timeout: 100_000 },
      )
    } finally {
      await stop()
    }
  })

  it.concurrent.each(Object.entries(PYTHON_FLAWS))('finds only the flaw of %s', async (name, finds) => {
    // The server of Python closes the connection while the body still arrives. That can destroy the response to a large
    // body on a busy machine.
    const mayFail = finds.fails.includes('too-large-response') ? [] : ['too-large-response']
    expectFinds(await check(finds.hasSideEffects ?? false, 'flaws.py', name), { mayFail, ...finds })
  })
})
