import { it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { startExpress } from './correct/express.ts'
import { checkUrl, expectConforms } from './expectations.ts'

// correct.long.ts, python.long.ts and adapters.long.ts check many receivers, with side effects.
it('finds nothing wrong in a receiver with Express, raw-body and node:crypto', async () => {
  const { url, close } = await startExpress(KEY, () => {})
  try {
    expectConforms(await checkUrl(url))
  } finally {
    await close()
  }
})
