import { it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { CORRECT } from './correct/index.ts'
import { checkUrl, expectConforms } from './expectations.ts'

// All scenarios, also those that send deliveries twice and that measure times. So these tests run one by one.
it.each(Object.entries(CORRECT))('finds nothing wrong in a receiver with %s', async (_, start) => {
  const names: unknown[] = []
  const { url, close } = await start(KEY, (payload) =>
    names.push((payload as { name?: unknown } | null)?.name),
  )
  try {
    const observer = (id: string): number => names.filter((name) => name === `geohook check ${id}`).length
    expectConforms(await checkUrl(url, { observer, sideEffects: true, skip: [] }))
  } finally {
    await close()
  }
})
