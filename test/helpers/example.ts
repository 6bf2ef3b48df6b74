import { createMockService } from 'geohook/mock'
import { expect } from 'vitest'
import type { Started } from './process.ts'

export const KEY = 'parcels2026'

/** A route of the app's own, what it answers, and what it is sent as JSON. */
export type OwnRoute = [path: string, answer: unknown, sent?: unknown]

/** The payload URL that an app prints. */
export const urlOf = async (app: Started): Promise<string> =>
  (await app.printed(/listening on (http:\S+)/))[1] as string

/** What must hold for every example, once it is started: what it handles, refuses, prints, and does not print. */
export async function useExample(app: Started, url: string, own?: OwnRoute, success = 200): Promise<void> {
  expect(await deliver(url)).toBe(success)
  await app.printed(/(FeaturesCreated|created) on Parcels/)
  expect(await deliver(url, { signatureKey: 'forged' })).toBe(401)
  await app.printed(/refused: signature_mismatch/)
  if (own) expect(await ask(new URL(own[0], url), own[2])).toEqual(own[1])
  expect(app.output).not.toContain(KEY)
}

/** Lets the mock service send one delivery, and tells how it was answered. */
export async function deliver(
  hookUrl: string,
  { signatureKey = KEY, changeType = 'FeaturesCreated', serviceName = 'Parcels' } = {},
): Promise<number | undefined> {
  const service = createMockService({
    webhooks: [{ serviceName, serviceType: 'FeatureServer', name: 'edits', hookUrl, signatureKey }],
    settings: { notificationAttempts: 1 },
  })
  try {
    const [attempt] = await service.trigger({ serviceName, changeType })
    return attempt?.answer?.status
  } finally {
    await service.close()
  }
}

async function ask(url: URL, sent: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, sent ? { method: 'POST', headers, body: JSON.stringify(sent) } : {})
  return response.json()
}
