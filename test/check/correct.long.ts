import { it, vi } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { CORRECT } from './correct/index.ts'
import { checkUrl, expectConforms } from './expectations.ts'

// Checks all scenarios, also those that send deliveries twice.
it.each(Object.entries(CORRECT))('finds nothing wrong in a receiver with %s', async (_, start) => {
  const names: unknown[] = []
  let failing: string | undefined
  const { url, close } = await start(KEY, (payload) => {
    const name = (payload as { name?: unknown } | null)?.name
    if (failing !== undefined && name === failing) throw new Error('the handler fails')
    names.push(name)
  })
  const failHandler = (id: string, fails: boolean): void => {
    failing = fails ? `geohook check ${id}` : undefined
  }
  try {
    const observer = (id: string): number => names.filter((name) => name === `geohook check ${id}`).length
    expectConforms(await checkUrl(url, { observer, failHandler, sideEffects: true }))
    // Repeat the scenario that measures times until it passes, because other tests can disturb it.
    const times = { only: ['uniform-refusal-time'], skip: [] }
    await vi.waitFor(async () => expectConforms(await checkUrl(url, times)), { timeout: 120_000 })
  } finally {
    await close()
  }
})
