import { createMockService } from 'geohook/mock'
import { expect } from 'vitest'
import type { Started } from './process.ts'

export const KEY = 'parcels2026'

/** Another route of an example: path, expected JSON response, JSON body to post. Without a body, the method is GET. */
export type OtherRoute = [path: string, response: unknown, body?: unknown]

/** Resolves with the payload URL that an example prints. */
export const urlOf = async (app: Started): Promise<string> =>
  (await app.printed(/listening on (http:[^\s"]+)/))[1] as string

/** Checks a started example: it handles a delivery, refuses a forged one, and never prints the key. */
export async function expectExampleWorks(
  app: Started,
  url: string,
  otherRoute?: OtherRoute,
  success = 200,
): Promise<void> {
  expect(await deliver(url)).toBe(success)
  await app.printed(/(FeaturesCreated|created) on Parcels/)
  expect(await deliver(url, { signatureKey: 'forged' })).toBe(401)
  await app.printed(/refused: signature_mismatch/)
  if (otherRoute) {
    const [path, response, body] = otherRoute
    expect(await fetchJson(new URL(path, url), body)).toEqual(response)
  }
  expect(app.output).not.toContain(KEY)
}

/** Sends one delivery from a mock service, and returns the status of the response. */
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

async function fetchJson(url: URL, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, body ? { method: 'POST', headers, body: JSON.stringify(body) } : {})
  return response.json()
}
