import { randomUUID } from 'node:crypto'
import type { ClosableDuplicateStore, DurableInbox } from 'geohook/inbox'
import { expect } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { type Load, startLoad } from './http-load.ts'

/** Runs a load before, during and after an outage of the server. Waits until all accepted deliveries are handled. */
export async function runThrough(inbox: DurableInbox, outage: (load: Load) => Promise<void>): Promise<Load> {
  const load = await startLoad(inbox)
  try {
    await until(() => load.handled.size > 50)
    await outage(load)
    const before = load.responses.length
    await until(() => load.responses.slice(before).filter(({ status }) => status === 202).length > 50)
    await load.end()
    await drain(load)
  } finally {
    await load.close()
  }
  return load
}

/**
 * Waits until all accepted deliveries are handled. Deliveries taken just before the outage are handled after at most
 * one and a third leases.
 */
export async function drain(load: Load): Promise<void> {
  while (load.handled.size < load.accepted.size) {
    const before = load.handled.size
    await until(() => load.handled.size > before, 40_000)
  }
}

export const countRejections = ({ responses }: Load): number =>
  responses.filter(({ status }) => status === 503).length

/** Asserts that all accepted deliveries were handled, and that every other response was a 503 with Retry-After. */
export function expectNothingLost(load: Load): void {
  const { responses, accepted, handled } = load
  expect([...accepted].filter((body) => !handled.has(body))).toEqual([])
  expect(responses.filter(({ status }) => ![200, 202, 503].includes(status))).toEqual([])
  const rejections = responses.filter(({ status }) => status === 503)
  expect(rejections.length).toBeGreaterThan(0)
  expect(rejections.every(({ retryAfter }) => Number(retryAfter) > 0)).toBe(true)
}

/** Asserts that a store rejects claims while its server hangs or is down, and accepts them afterwards. */
export async function expectClaimsSurviveOutages(
  store: ClosableDuplicateStore,
  server: { hang(): void; resume(): void; crash(): Promise<void>; start(): Promise<void> },
): Promise<void> {
  // Claims a new delivery each time, because the store knows its own claims without the server.
  const claim = () => store.claim(randomUUID().replaceAll('-', ''))
  const isClaimed = async () => (await claim().catch(() => '')) === 'claimed'
  try {
    expect(await claim()).toBe('claimed')
    server.hang()
    await expect(claim()).rejects.toThrow()
    server.resume()
    await until(isClaimed)
    await server.crash()
    await expect(claim()).rejects.toThrow()
    await server.start()
    await until(isClaimed)
  } finally {
    await store.close()
  }
}
