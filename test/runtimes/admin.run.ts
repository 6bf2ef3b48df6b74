import { expect, inject, it } from 'vitest'
import { auth } from '../mock/admin/support.ts'
import { FEATURE, seed, start } from '../mock/support.ts'
import { startRemote } from './remote.ts'
import { RUNTIMES } from './runtimes.ts'

// Not in a `describe`, because `contract/matrix.ts` prints each `describe` as a column of the contract.
it.each(RUNTIMES)('geohook/admin signs in and edits a webhook on $name', async (runtime) => {
  const service = await start([seed(FEATURE)], { auth: auth(), like: 'enterprise' })
  const { administer, stop } = await startRemote(runtime, inject('appFolder'))
  try {
    const administered = await administer(service.url)
    expect(administered).toEqual({ name: 'renamed', changed: ['name'], code: 'admin_not_found' })
  } finally {
    await stop()
  }
})
