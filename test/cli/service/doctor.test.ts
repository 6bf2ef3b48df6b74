import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { createReceiver } from 'geohook'
import type { ScheduleInfo, Webhook } from 'geohook/mock'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { issue, serveSecurely } from '../../helpers/certificates.ts'
import { createFolder, geohook, parseEvents, startGeohook } from '../../helpers/cli.ts'
import { base64Of, deliver, KEY, payloadOf } from '../../helpers/deliver.ts'
import { serve } from '../../helpers/served.ts'
import { unusedUrl } from '../../helpers/target.ts'
import { FEATURE, JOB, seed } from '../../mock/support.ts'
import { createInbox, DAY, doctor, EDITS, edited, fail, HOUR, PAGE, PORTAL, start } from './doctor-support.ts'

const folder = createFolder()
const DISABLED: Webhook['scheduleInfo'] = {
  ...(FEATURE.scheduleInfo as ScheduleInfo),
  state: 'disabled',
}
const NOT_FOUND = { error: { code: 404, message: 'Service not found' } }

/** Watches a healthy webhook. Then an hour passes until features are edited, and another one. */
async function watchEdit(
  { url, pages }: Pick<Awaited<ReturnType<typeof start>>, 'url' | 'pages'>,
  health: string,
) {
  pages[`${PAGE}/layers`] = edited(Date.now() - HOUR)
  const now = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now })
  onTestFinished(() => void vi.useRealTimers())
  const args = ['doctor', 'Parcels.FeatureServer', '--url', url, '--watch', '--health', health]
  const watching = startGeohook(args, { pace: 0.0001 })
  await watching.printed(/healthy {2}Parcels/)
  pages[`${PAGE}/layers`] = edited(now + HOUR)
  vi.setSystemTime(now + 2 * HOUR)
  return watching
}

describe('geohook doctor', () => {
  it.each(['service', 'enterprise', 'online'] as const)('finds a webhook of %s healthy', async (product) => {
    const { url } = await start([EDITS], { like: product })
    expect(await doctor(url, '--product', product)).toMatchObject({ exit: 0, verdict: 'healthy', doubts: [] })
  })

  it.each<[string, Partial<Webhook>, number[], string[], RegExp]>([
    ['failing', {}, [5, 4, 3, 2, 1].map((age) => age * HOUR), [], /^5 failed deliveries from \S+ to \S+$/],
    ['inactive', { active: false }, [5, 4, 3, 2, 1], [], /^probably deactivated by the service: 5 failed/],
    ['inactive', { active: false }, [44 * DAY, 43 * DAY, 42 * DAY, 41 * DAY + 1, 41 * DAY], [], /: 5 failed/],
    ['key_missing', { signatureKey: '' }, [], [], /no key/],
    ['key_different', {}, [], ['--key', 'another'], /not among the given keys/],
    ['schedule_disabled', { scheduleInfo: DISABLED }, [], [], /disabled/],
  ])('finds %s (%j, failures %j, %j)', async (code, changes, ages, args, evidence) => {
    const { url, mock } = await start([seed(EDITS, changes)])
    if (ages.length > 0) fail(mock, EDITS.id, ...ages)
    const found = await doctor(url, ...args)
    expect(found).toMatchObject({ exit: 4, verdict: 'sick', codes: [code] })
    expect(found.causes[0]?.evidence).toMatch(evidence)
    expect(found.causes[0]?.fix).toMatch(/\.$/)
  })

  it.each<[string, Partial<Webhook>, number[], RegExp]>([
    ['an inactive webhook without failures', { active: false }, [], /^inactive: deactivated by an admin/],
    [
      'one with fewer failures than the limit',
      { active: false },
      [HOUR],
      /^inactive: .*; 1 failed delivery at/,
    ],
    ['an active one with fewer', {}, [4, 3, 2, HOUR], /^4 failed deliveries .*not list later successes$/],
    ['failures before the last edit', { modified: Date.now() - 60_000 }, [HOUR], /edited later/],
  ])('says unknown for %s, and exits with 4 only with --strict', async (_, changes, ages, reason) => {
    const { url, mock } = await start([seed(EDITS, changes)])
    fail(mock, EDITS.id, ...ages)
    const found = await doctor(url)
    expect(found).toMatchObject({ exit: 0, verdict: 'unknown', causes: [] })
    expect(found.doubts[0]).toMatch(reason)
    expect((await doctor(url, '--strict')).exit).toBe(4)
  })

  it('finds a temporary webhook of geohook listen that is older than a day', async () => {
    const nameAt = (time: number): string =>
      `geohook-listen-kim-gis1-${new Date(time).toISOString().replace(/\W/g, '').toLowerCase()}`
    const { url } = await start(
      [25, 23].map((hours) => seed(EDITS, { id: `${hours}`, name: nameAt(Date.now() - hours * HOUR) })),
    )
    const { exit, webhooks } = await doctor(url)
    expect(exit).toBe(4)
    expect(webhooks.map(({ verdict }) => verdict)).toEqual(['sick', 'healthy'])
    expect(webhooks[0]?.causes).toEqual([
      {
        code: 'leftover',
        evidence: expect.stringMatching(/^a temporary webhook of geohook listen, made at \S+Z$/),
        fix: expect.stringContaining('geohook listen --cleanup'),
      },
    ])
  })

  it('ignores failures that are older than the days of the service', async () => {
    const { url, mock } = await start([EDITS])
    fail(mock, EDITS.id, 6 * DAY)
    expect((await doctor(url)).verdict).toBe('healthy')
  })

  it('says unknown for an old failure that ArcGIS Online still lists', async () => {
    const { url, mock } = await start([EDITS], { like: 'online' })
    fail(mock, EDITS.id, 10 * DAY)
    expect(await doctor(url, '--product', 'online')).toMatchObject({
      verdict: 'unknown',
      doubts: [expect.stringContaining('later successes')],
    })
  })

  it('takes 0 failures in the settings for an unknown number', async () => {
    const { url, pages } = await start([seed(EDITS, { active: false })])
    pages['/services/webhooks/settings'] = { numberOfFailures: 0, daysInPast: 0 }
    expect(await doctor(url)).toMatchObject({ exit: 0, verdict: 'unknown', causes: [] })
  })

  it('does not say who has switched a webhook off if it does not know after how many failures', async () => {
    const { url, mock, pages } = await start([seed(EDITS, { active: false })])
    fail(mock, EDITS.id, HOUR)
    pages['/services/webhooks/settings'] = { error: { code: 403, message: 'no' } }
    const found = await doctor(url)
    expect(found).toMatchObject({ exit: 0, verdict: 'unknown', codes: [] })
    expect(found.doubts).toEqual([expect.stringMatching(/^inactive: .*; 1 failed delivery at \S+$/)])
  })

  it('does not say that a webhook is failing if it does not know after how many failures', async () => {
    const { url, mock, pages } = await start([EDITS])
    fail(mock, EDITS.id, 6, 5, 4, 3, 2, HOUR)
    pages['/services/webhooks/settings'] = { error: { code: 403, message: 'no' } }
    const found = await doctor(url)
    expect(found).toMatchObject({
      verdict: 'unknown',
      doubts: [expect.stringMatching(/^6 failed deliveries/)],
    })
  })

  it('says unknown for a key that the service hides, if a key is given', async () => {
    const { url } = await start([EDITS], { like: { keys: 'hidden' } })
    const found = await doctor(url, '--key', 'another')
    expect(found).toMatchObject({
      exit: 0,
      verdict: 'unknown',
      doubts: [expect.stringContaining('not show')],
    })
    expect((await doctor(url)).verdict).toBe('healthy')
  })

  it('compares keys only with those of options, because SIGNATURE_KEY may be that of another receiver', async () => {
    const { url } = await start([EDITS])
    const env = { SIGNATURE_KEY: 'another' }
    expect(await geohook(['doctor', '--url', url], { env })).toMatchObject({ code: 0, stderr: '' })
    const { code, stdout } = await geohook(['doctor', '--url', url, '--key-env', 'SIGNATURE_KEY'], { env })
    expect([code, stdout]).toEqual([4, expect.stringContaining('key_different')])
  })

  it('examines the webhooks of a portal that belongs to the server', async () => {
    const portal = await start([PORTAL], { like: 'portal' })
    const { url } = await start([EDITS])
    const found = await doctor(url, 'portal', 'Parcels.FeatureServer', '--portal', portal.url)
    expect(found).toMatchObject({
      exit: 0,
      verdict: 'healthy',
      webhooks: [{ name: 'items' }, { name: EDITS.name }],
    })
    // Only the portal is asked, not the default of --url.
    const alone = await geohook(['doctor', 'portal', '--portal', portal.url])
    expect(alone).toMatchObject({ code: 0, stdout: expect.stringMatching(/^healthy {2}items /) })
    expect((await geohook(['doctor', 'Parcels', '--url', url])).code).toBe(2)
  })

  it.each<[string, string, object, RegExp]>([
    ['tracking_off', 'sick', { capabilities: 'Query, Editing' }, /capabilities: Query, Editing/],
    ['', 'healthy', { capabilities: 'Query, update', extractChangesCapabilities: {} }, /^$/],
    ['', 'healthy', { capabilities: 'Create,Changetracking' }, /^$/],
    ['', 'unknown', { capabilities: 'Query', isView: true }, /view/],
    ['', 'unknown', { capabilities: 'Editing,ChangeTracking,Sync' }, /sync/],
    ['', 'unknown', {}, /does not show its capabilities/],
    ['', 'unknown', NOT_FOUND, /cannot be read/],
  ])('finds %s (%s) from the description of a feature service %j', async (code, verdict, page, text) => {
    const { url, pages } = await start([EDITS])
    pages[PAGE] = page
    const found = await doctor(url)
    expect(found).toMatchObject({ verdict, codes: code ? [code] : [] })
    expect(found.causes[0]?.evidence ?? found.doubts[0] ?? '').toMatch(text)
  })

  it('finds leftover: the site lists a webhook whose service does not exist', async () => {
    const { url, pages } = await start([EDITS])
    pages['/services/Parcels.FeatureServer/webhooks'] = NOT_FOUND
    expect(await doctor(url)).toMatchObject({ verdict: 'unknown' })
    pages[PAGE] = { error: { code: 403, message: 'no' } }
    expect(await doctor(url)).toMatchObject({
      verdict: 'unknown',
      doubts: [expect.stringMatching(/cannot be/)],
    })
    pages[PAGE] = NOT_FOUND
    expect(await doctor(url)).toMatchObject({ exit: 4, codes: ['leftover'] })
    expect(await doctor(url, 'Parcels.FeatureServer')).toMatchObject({ exit: 4, codes: ['leftover'] })
  })

  it('does not ask other servers that an organization names', async () => {
    const { url, pages } = await start([EDITS], { like: 'online' })
    const listed = {
      ...EDITS,
      id: 9,
      serviceUrl: 'https://other.example/rest/services/Parcels/FeatureServer',
    }
    pages['/rest/admin/WebHooks'] = [listed]
    const found = await doctor(url, '--product', 'online')
    expect(found).toMatchObject({ verdict: 'unknown', doubts: [expect.stringContaining('another server')] })
  })

  it('finds failing at a portal only if the last delivery failed, however long ago', async () => {
    const webhook = seed(PORTAL, { modified: Date.now() - 100 * DAY })
    const { url, mock, pages } = await start([webhook], { like: 'portal' })
    const trigger = () =>
      mock.trigger({ serviceType: 'Portal', serviceName: 'self', changeType: '/items/add' })
    const path = '/sharing/rest/portals/0123456789ABCDEF/webhooks/p1/notificationStatus'
    const old = { invoked: false, invokedTimestamp: Date.now() - 99 * DAY }
    pages[path] = { webhookNotificationStatus: [old] }
    expect(await doctor(url, '--product', 'portal')).toMatchObject({ exit: 4, codes: ['failing'] })
    delete pages[path]
    await trigger()
    expect(await doctor(url, '--product', 'portal')).toMatchObject({ exit: 4, codes: ['failing'] })
    const receiver = await serve((_, res) => res.end())
    mock.restore({ ...mock.snapshot(), webhooks: [{ ...webhook, hookUrl: receiver.url }] })
    await trigger()
    expect(await doctor(url, '--product', 'portal')).toMatchObject({ exit: 0, verdict: 'healthy' })
  })

  it('examines all services, or the given ones, and prints masked payload URLs', async () => {
    const { url, mock } = await start([EDITS, seed(JOB, { active: false })])
    fail(mock, EDITS.id, 5, 4, 3, 2, 1)
    const { stdout, code } = await geohook(['doctor', '--url', url])
    expect(code).toBe(4)
    expect(stdout).toMatch(
      /^sick {5}Parcels\.FeatureServer {2}parcel edits \(c4a7\S+\) {2}\S+\?code=\*\*\*\n/,
    )
    expect(stdout).toMatch(/ {2}cause {5}failing\n {2}evidence {2}5 failed.*\n {2}fix {7}.*\n/)
    expect(stdout).toMatch(
      /\nunknown {2}Buffer.*\n {2}doubt {5}.*\n2 webhooks: 0 healthy, 1 unknown, 1 sick\n$/,
    )
    expect((await doctor(url, 'Buffer.GPServer')).webhooks.map(({ name }) => name)).toEqual(['jobs done'])
    expect((await geohook(['doctor', 'Missing.FeatureServer', '--url', url])).code).toBe(1)
    expect((await geohook(['doctor', '--url', await unusedUrl()])).code).toBe(3)
    const shown = await geohook(['doctor', '--url', url, '--show-urls'], { columns: 160 })
    expect(shown.stdout).toContain(EDITS.hookUrl)
  })
})

describe('geohook doctor finds silence', () => {
  it.each<[string, number, Partial<Webhook>, string]>([
    ['sick', 2 * HOUR, {}, 'dataLastEditDate'],
    ['healthy', 6 * HOUR, {}, 'dataLastEditDate'],
    ['healthy', 1000, {}, 'dataLastEditDate'],
    ['healthy', 2 * HOUR, { modified: Date.now() - HOUR }, 'dataLastEditDate'],
    ['unknown', 2 * HOUR, {}, 'lastEditDate'],
    ['unknown', 2 * HOUR, {}, 'other'],
    ['unknown', 2 * HOUR, { changeTypes: ['FeaturesCreated'] }, 'dataLastEditDate'],
  ])(
    'says %s if features were edited %d ms ago (%j, %s)',
    { tags: ['sqlite'] },
    async (verdict, age, changes, member) => {
      const { url, pages } = await start([seed(EDITS, changes)])
      pages[`${PAGE}/layers`] = edited(Date.now() - age, member)
      const found = await doctor(url, '--store', await createInbox(folder.path, url))
      expect(found).toMatchObject({ verdict, codes: verdict === 'sick' ? ['silent'] : [] })
      expect(found.doubts.join()).not.toContain('no earlier delivery')
    },
  )

  it('only in an inbox that belongs to the webhook', { tags: ['sqlite'] }, async () => {
    const { url, pages } = await start([EDITS])
    pages[`${PAGE}/layers`] = edited(Date.now() - 2 * HOUR)
    const found = await doctor(url, '--store', await createInbox(folder.path, url, 'Roads'))
    expect(found.doubts).toEqual([expect.stringContaining('no earlier delivery')])
    const several = await start([EDITS, seed(EDITS, { id: 'w2', name: 'other' })])
    several.pages[`${PAGE}/layers`] = edited(Date.now() - 2 * HOUR)
    const { webhooks } = await doctor(several.url, '--store', await createInbox(folder.path, several.url))
    expect(webhooks.map(({ verdict }) => verdict)).toEqual(['unknown', 'unknown'])
  })

  it('with --watch and the numbers of a receiver, once features are edited and the numbers stay', async () => {
    const { url, pages } = await start([EDITS])
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {})
    const health = await serve(async (_, res) => void res.end(JSON.stringify(await receiver.stats())))
    const watching = await watchEdit({ url, pages }, health.url)
    await watching.printed(/cause {5}silent/)
    await deliver(receiver, payloadOf('FeaturesCreated'))
    await watching.printed(/silent(?:.*\n)+healthy {2}Parcels/)
    expect(await watching.stop()).toBe(0)
    expect(await geohook(['doctor', '--url', url, '--watch', '--health', health.url])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--health requires the services'),
    })
  })

  it('says unknown about the webhooks of a service if only one of them may send to the receiver', async () => {
    const { url, pages } = await start([EDITS, seed(EDITS, { id: 'w2', name: 'other' })])
    const health = await serve((_, res) => void res.end('{"outcomes":{"handled":1}}'))
    const watching = await watchEdit({ url, pages }, health.url)
    await watching.printed(/doubt .*nothing has arrived since .*another webhook/)
    expect(await watching.stop()).toBe(0)
  })
})

describe('geohook doctor --watch', () => {
  it('prints only changes, and finds a webhook whose failures were cleared when it was deactivated', async () => {
    const { url, mock } = await start([EDITS], { like: { product: 'online', handshake: false } })
    fail(mock, EDITS.id, HOUR)
    const args = ['doctor', '--url', url, '--product', 'online', '--watch', '--json']
    const watching = startGeohook(args, { pace: 0.0001 })
    await watching.printed(/1 failed delivery/)
    // After the fifth failure, the service deactivates it and clears its failures.
    for (let count = 0; count < 4; count++)
      await mock.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated' })
    expect(mock.snapshot()).toMatchObject({ webhooks: [{ active: false }], failures: [] })
    await watching.printed(/"inactive"/)
    expect(await watching.stop()).toBe(4)
    const events = parseEvents(watching)
    expect(events.at(-1)).toMatchObject({
      event: 'webhook',
      active: false,
      causes: [
        { code: 'inactive', evidence: expect.stringMatching(/^was active at \S+; probably deactivated/) },
      ],
    })
    for (const [index, event] of events.entries())
      expect({ ...event, at: '' }).not.toEqual({ ...events[index - 1], at: '' })
  })

  it('finds a webhook that the service deactivates between two requests of an examination', async () => {
    const { mock } = await start([EDITS])
    fail(mock, EDITS.id, HOUR)
    let isDying = false
    const { url } = await serve((req, res) => {
      if (isDying && req.url?.includes('notificationStatus'))
        mock.restore({ ...mock.snapshot(), webhooks: [seed(EDITS, { active: false })], failures: [] })
      mock.app(req, res)
    })
    const watching = startGeohook(['doctor', '--url', url, '--watch'], { pace: 0.0001 })
    await watching.printed(/unknown {2}.*\n {2}doubt {5}1 failed/)
    isDying = true
    await watching.printed(
      /cause {5}inactive\n {2}evidence {2}was active at .*, which listed 1 failed delivery then/,
    )
    expect(await watching.stop()).toBe(4)
    expect(watching.output).not.toContain('healthy')
  })

  it('does not blame a service that still lists too few failures', async () => {
    const { url, mock } = await start([EDITS])
    fail(mock, EDITS.id, HOUR)
    const watching = startGeohook(['doctor', '--url', url, '--watch'], { pace: 0.0001 })
    await watching.printed(/1 failed delivery/)
    const [webhook] = mock.snapshot().webhooks
    mock.restore({ ...mock.snapshot(), webhooks: [{ ...(webhook as Webhook), active: false }] })
    await watching.printed(/unknown {2}.*\n {2}doubt {5}was active at \S+; inactive: .*; 1 failed/)
    expect(await watching.stop()).toBe(0)
  })

  it('ends at once while the service does not respond', async () => {
    const { mock } = await start([EDITS])
    let hang: ((res: ServerResponse) => void) | undefined
    const { url } = await serve((req, res) => (hang ? hang(res) : mock.app(req, res)))
    const watching = startGeohook(['doctor', '--url', url, '--watch'], { pace: 0.0001 })
    await watching.printed(/healthy {2}Parcels/)
    const response = await new Promise<ServerResponse>((resolve) => {
      hang = resolve
    })
    const closed = once(response, 'close')
    expect(await watching.stop()).toBe(0)
    await closed
  })

  it('continues while the service is unreachable', async () => {
    const { mock } = await start([EDITS])
    let isDown = false
    const { url } = await serve((req, res) => (isDown ? req.socket.destroy() : mock.app(req, res)))
    const watching = startGeohook(['doctor', '--url', url, '--watch'], { pace: 0.0001 })
    await watching.printed(/healthy {2}Parcels/)
    isDown = true
    await watching.printed(/trying again: /)
    fail(mock, EDITS.id, 5, 4, 3, 2, 1)
    isDown = false
    await watching.printed(/sick {5}Parcels/)
    expect(await watching.stop()).toBe(4)
    expect(watching.output.match(/trying again/g)).toHaveLength(1)
  })
})

describe('geohook doctor --probe', () => {
  it('is needed for any connection to a payload URL', async () => {
    let connections = 0
    const target = createServer((socket) => {
      connections++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(target, 'listening')
    const { port } = target.address() as { port: number }
    const { url } = await start([seed(EDITS, { hookUrl: `https://127.0.0.1:${port}/hook` })])
    await doctor(url, '--key', KEY)
    expect(connections).toBe(0)
    const found = await doctor(url, '--probe', 'tls')
    expect([connections, found.doubts]).toEqual([1, [expect.stringContaining('accepts no TLS connection')]])
    target.close()
  })

  it.each<[string, readonly [number, number], readonly string[], boolean, string | undefined]>([
    ['a valid certificate', [-1, 1], ['localhost'], true, undefined],
    ['an expired one', [-9, -1], ['localhost'], true, 'CERT_HAS_EXPIRED'],
    ['one of another host', [-1, 1], ['other.example'], true, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['one of an unknown CA', [-1, 1], ['localhost'], false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('tls sends no request, and judges %s', async (_, days, dns, isTrusted, error) => {
    const certificate = issue({ days, dns })
    const target = await serveSecurely(certificate)
    const { url } = await start([seed(EDITS, { hookUrl: `${target.url}/hook` })], {
      allowHosts: ['localhost'],
    })
    const ca = folder.file(`${target.port}.pem`, certificate.cert)
    const found = await doctor(url, '--probe', 'tls', ...(isTrusted ? ['--ca', ca] : []))
    expect(found.codes).toEqual(error ? ['probe_failed'] : [])
    if (error) expect(found.causes[0]?.evidence).toMatch(new RegExp(`^seen from this machine, .*${error}$`))
    expect(target.requests).toBe(0)
  })

  it('handshake asks named origins only, and checks the token', async () => {
    const asked: string[] = []
    const target = await serve((req, res) => {
      asked.push(`${req.method} ${req.url}`)
      const token = new URL(req.url ?? '', 'http://localhost').searchParams.get('crc_token') ?? ''
      res.end(JSON.stringify({ response_token: `sha256=${base64Of(token)}` }))
    })
    const { url } = await start([seed(EDITS, { hookUrl: `${target.url}/hook?a=%2f` })])
    const probe = ['--probe', 'handshake', '--key', KEY, '--origin']
    expect((await doctor(url, ...probe, 'http://127.0.0.1:9')).verdict).toBe('healthy')
    expect(asked).toEqual([])
    expect(await doctor(url, ...probe, target.url)).toMatchObject({ verdict: 'healthy' })
    expect(asked).toEqual([expect.stringMatching(/^GET \/hook\?a=%2f&crc_token=[\da-f]{32}$/)])
    const other = await doctor(url, '--probe', 'handshake', '--key', 'another', '--origin', target.url)
    expect(other.codes).toEqual(['key_different', 'probe_failed'])
    expect((await geohook(['doctor', '--url', url, '--probe', 'handshake'])).code).toBe(2)
  })
})
