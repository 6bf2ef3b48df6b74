import { createManualClock, type MockService, type ServiceVersion, type Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../helpers/http.ts'
import { FEATURE, JOB, seed, start } from '../support.ts'
import { auth, get, postForm, tokenOf } from './support.ts'
import { type Body, type Fields, ROWS, type Row } from './table-rows.ts'

// Tests every combination of operation, service type, format, version and user. The rules below compute the expected
// responses from the specification, independently of the source.

const CASES = [
  'auth off',
  'both privileges',
  'only geoprocessing',
  'only features',
  'neither',
  'no token',
  'bad token',
  'expired token',
] as const
type Case = (typeof CASES)[number]
const VERSIONS: ServiceVersion[] = ['11.1', '11.2', '11.3']
const FORMATS = ['json', 'pjson', 'html'] as const
const TYPES = [FEATURE, JOB]

/** Returns the expected status of a response. */
function expectedStatus(
  operation: string,
  { serviceType }: Webhook,
  version: ServiceVersion,
  who: Case,
): number {
  const isWhole = /^(site|settings)/.test(operation)
  if (version === '11.1' && (isWhole || operation === 'notificationStatus')) return 404
  if (operation === 'generateToken') return who === 'auth off' ? 404 : 200
  if (who === 'auth off' || who === 'both privileges') return 200
  if (who === 'no token') return 499
  if (who === 'bad token' || who === 'expired token') return 498
  if (isWhole || who === 'neither') return 403
  return (serviceType === 'GPServer') === (who === 'only geoprocessing') ? 200 : 403
}

/** Creates the webhook of one case. Each has a different `serviceName`, so that all cases can share a mock service. */
const webhookOf = (from: Webhook, row: Row, who: Case, f: string): Webhook => {
  const name = `${row.operation} ${who} ${f}`
  return seed(from, {
    serviceName: name,
    id: `${from.serviceType}-${name.replace(/\W+/g, '-')}`,
    active: row.operation !== 'activateAll',
    scheduleInfo: {},
  })
}

const errorOf = (code: number): unknown => ({ status: 'error', messages: [expect.any(String)], code })

function checkAnswer(
  { status, headers, text }: Answer,
  f: string,
  code: number,
  check: (body: Body) => void,
) {
  expect(status).toBe(code)
  expect(headers['cache-control']).toBe('no-store')
  if (f === 'html') {
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    const [, json = ''] =
      /^<!doctype html>\n<html lang="en">.*<pre>(.*)<\/pre>.*<\/html>\n$/s.exec(text) ?? []
    const shown = JSON.parse(json.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&'))
    if (code === 200) expect(shown).not.toHaveProperty('error')
    else expect(shown).toEqual(errorOf(code))
    return
  }
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  const body = JSON.parse(text) as Body
  expect(text).toBe(JSON.stringify(body, null, f === 'pjson' ? 2 : 0))
  if (code === 200) check(body)
  else expect(body).toEqual(errorOf(code))
}

describe.each(VERSIONS)('version %s', (version) => {
  describe.each(['off', 'on'])('auth %s', (authIs) => {
    const cases = CASES.filter((who) => (who === 'auth off') === (authIs === 'off'))
    const all = cases.flatMap((who) =>
      ROWS.flatMap((row) =>
        TYPES.map((from) => ({
          who,
          row,
          from,
          title: `${row.operation} of a ${from.serviceType}, ${who}: ${expectedStatus(row.operation, from, version, who)}`,
        })),
      ),
    )

    it('every operation returns the expected response in every format, and refused requests change nothing', async () => {
      const clock = createManualClock(1800000000000)
      let saves = 0
      const save = async (): Promise<void> => {
        saves++
      }
      const webhooks = all.flatMap(({ who, row, from }) => FORMATS.map((f) => webhookOf(from, row, who, f)))
      const service = await start(webhooks, {
        version,
        clock,
        save,
        ...(authIs === 'on' ? { auth: auth() } : {}),
      })
      const tokens = authIs === 'on' ? await tokensOf(service, clock) : new Map<Case, string>()
      const before = new Map(service.snapshot().webhooks.map((webhook) => [webhook.id, webhook]))
      const failures: string[] = []
      for (const { who, row, from, title } of all) {
        const code = expectedStatus(row.operation, from, version, who)
        for (const f of FORMATS) {
          const webhook = webhookOf(from, row, who, f)
          const savesBefore = saves
          const answer = await ask(service, row, webhook, { f, token: tokens.get(who) ?? '' })
          try {
            // For an unknown path, the service does not read the form, so it ignores `f` and responds with JSON.
            const format = code === 404 && row.method === 'POST' ? 'json' : f
            checkAnswer(answer, format, code, (body) => row.check(body, webhook))
            expect(saves - savesBefore).toBe(code === 200 && row.changes ? 1 : 0)
          } catch (error) {
            failures.push(`${title}, f=${f}: ${(error as Error).message}`)
          }
          if (code === 200 && row.changes) before.delete(webhook.id)
        }
      }
      expect(failures).toEqual([])
      const after = new Map(service.snapshot().webhooks.map((webhook) => [webhook.id, webhook]))
      expect(before.size).toBeGreaterThan(0)
      for (const [id, webhook] of before) expect(after.get(id)).toEqual(webhook)
    })

    it(`there are ${cases.length * 13 * 2} cases in 3 formats`, () => {
      expect(new Set(all.map(({ title }) => title)).size).toBe(cases.length * 13 * 2)
    })
  })
})

async function tokensOf(
  service: MockService,
  clock: { advance(ms: number): Promise<void> },
): Promise<Map<Case, string>> {
  const expired = await tokenOf(service, 'both', 1)
  await clock.advance(60_000)
  return new Map<Case, string>([
    ['both privileges', await tokenOf(service, 'both')],
    ['only geoprocessing', await tokenOf(service, 'gp')],
    ['only features', await tokenOf(service, 'fs')],
    ['neither', await tokenOf(service, 'neither')],
    ['bad token', 'bad'],
    ['expired token', expired],
  ])
}

function ask(service: MockService, row: Row, webhook: Webhook, common: Fields): Promise<Answer> {
  const url = service.url + encodeURI(row.path(webhook))
  // In HTML, the operations that delete ask first, unless this field confirms them. The others ignore it.
  const fields = { ...row.parameters?.(webhook), ...common, confirmed: 'true' }
  return row.method === 'POST' ? postForm(url, fields) : get(`${url}?${new URLSearchParams(fields)}`)
}
