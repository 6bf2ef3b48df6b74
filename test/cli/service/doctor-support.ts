import { join } from 'node:path'
import { createReceiver } from 'geohook'
import type { MockService, MockServiceOptions, Webhook } from 'geohook/mock'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect } from 'vitest'
import { geohook, parseStdout } from '../../helpers/cli.ts'
import { handleAll } from '../../helpers/dead-letters.ts'
import { deliver, KEY, payloadOf } from '../../helpers/deliver.ts'
import { serve } from '../../helpers/served.ts'
import { create, FEATURE, seed } from '../../mock/support.ts'

export const DAY = 86_400_000
export const HOUR = 3_600_000
export const PAGE = '/rest/services/Parcels/FeatureServer'
const SECRET_URL = 'http://127.0.0.1:9/hook?code=8fJk29sLq0'

/** A healthy webhook: active, with a key, on a service that tracks changes. */
export const EDITS = seed(FEATURE, {
  changeTypes: ['*'],
  hookUrl: SECRET_URL,
  modified: Date.now() - 30 * DAY,
})
export const PORTAL = {
  serviceType: 'Portal',
  serviceName: '0123456789ABCDEF',
  id: 'p1',
  name: 'items',
  changeTypes: ['*'],
  hookUrl: SECRET_URL,
  signatureKey: KEY,
} as Webhook

interface Served {
  url: string
  mock: MockService
  /** Answers by path, in place of those of the mock. */
  pages: Record<string, object>
}

export async function start(webhooks: Webhook[], options: MockServiceOptions = {}): Promise<Served> {
  const mock = create(webhooks, options)
  const pages: Record<string, object> = {}
  const { url } = await serve((req, res) => {
    const page = pages[new URL(req.url ?? '', 'http://localhost').pathname]
    if (!page) return mock.app(req, res)
    req.resume()
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify(page))
  })
  return { url, mock, pages }
}

/** Makes the mock list failed deliveries of a webhook, by their age in milliseconds. */
export function fail(mock: MockService, webhookId: string, ...ages: number[]): void {
  const times = ages.map((age) => Date.now() - age)
  mock.restore({ ...mock.snapshot(), failures: [{ webhookId, times }] })
}

interface Verdict {
  name: string
  verdict: string
  causes: { code: string; evidence: string; fix: string }[]
  doubts: string[]
}

export async function doctor(url: string, ...args: string[]) {
  const result = await geohook(['doctor', '--url', url, '--json', ...args])
  expect(result.stderr).toBe('')
  expect(result.stdout + result.stderr).not.toContain('8fJk29sLq0')
  const webhooks: Verdict[] = parseStdout(result).webhooks
  const [first] = webhooks as [Verdict]
  return { ...first, webhooks, exit: result.code, codes: first?.causes.map(({ code }) => code) }
}

/** The layers of a service whose features were edited at a time. */
export const edited = (time: number, member = 'dataLastEditDate') => ({
  layers: [{ id: 0, editingInfo: { [member]: time } }],
  tables: [],
})

/** Creates an inbox that handled one delivery of the service five hours ago. Returns its path. */
export async function createInbox(folder: string, url: string, name = 'Parcels'): Promise<string> {
  const path = join(folder, `${name}-${new URL(url).port}.db`)
  const clock = () => Date.now() - 5 * HOUR
  const inbox = createSqliteInbox({ path, clock })
  const changesUrl = `${url}/rest/services/${name}/FeatureServer/extractChanges?serverGens=[1,2]`
  const body = JSON.stringify({ ...JSON.parse(payloadOf('FeaturesCreated')), changesUrl })
  await deliver(createReceiver({ signatureKey: KEY, inbox, clock }), body)
  await handleAll(inbox)
  await inbox.close()
  return path
}
