import { describe, expect, it } from 'vitest'
import { geohook, parseStdout, type RunResult, withMock } from '../../helpers/cli.ts'
import { useJsonFiles } from '../../helpers/cli-seed.ts'
import { startTarget, type TargetRequest } from '../../helpers/target.ts'

const jsonFile = useJsonFiles()

const PARCELS = 'Parcels.FeatureServer'
const KEY = 'key with TOKEN-1 & ümlaut'
const URL_2 = 'http://127.0.0.1:9/v2'

const SCHEDULE = {
  name: 'nightly',
  state: 'disabled',
  startAt: 1_700_000_000_000,
  recurrenceInfo: { frequency: 'minute', interval: 7 },
}
const WEBHOOK = {
  id: 'w0',
  folderName: '',
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  name: 'edits',
  changeTypes: ['FeaturesCreated', 'FeaturesDeleted'],
  signatureKey: KEY,
  hookUrl: 'http://127.0.0.1:9/v1',
  active: false,
  contentType: 'application/x-www-form-urlencoded',
  scheduleInfo: SCHEDULE,
  payloadFormat: 'pjson',
}

describe.concurrent('geohook edit', () => {
  it.each(['reset', 'keep'])(
    'loses no member if the service does not keep omitted ones: --like omitted=%s',
    async (omitted) => {
      const seed = jsonFile({
        services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer' }],
        webhooks: [WEBHOOK],
      })
      await withMock(['--seed', seed, '--like', `omitted=${omitted}`], async ({ geohook, url }) => {
        const read = async () => (await fetch(`${url}/services/${PARCELS}/webhooks/w0?f=json`)).json()
        const before = await read()
        expect(before).toMatchObject(WEBHOOK)
        const moved = await geohook('edit', PARCELS, 'edits', '--hook-url', URL_2)
        expect(moved).toEqual({
          code: 0,
          stderr: '',
          stdout: [
            'edited edits (w0)',
            '  name          edits',
            `  hookUrl       ${URL_2}`,
            '                was http://127.0.0.1:9/v1',
            '  changeTypes   FeaturesCreated,FeaturesDeleted',
            '  key           ***',
            '  active        false',
            '  contentType   application/x-www-form-urlencoded',
            '  payloadFormat pjson',
            '  schedule      {"name":"nightly","state":"disabled","startAt":1700000000000,"recurrenceInfo":{"interval":7,"frequency":"minute"}}\n',
          ].join('\n'),
        })
        expect(await read()).toEqual({ ...before, hookUrl: URL_2, modified: expect.any(Number) })

        const schedule = ['--schedule', '{"state":"enabled"}', '--key', 'another', '--json']
        const scheduled = await geohook('edit', PARCELS, 'w0', ...schedule)
        expect(parseStdout(scheduled)).toMatchObject({
          webhook: { key: '***', schedule: { ...SCHEDULE, state: 'enabled' } },
          changed: ['key', 'schedule'],
          adjusted: [],
          notCompared: [],
        })
        expect(await read()).toMatchObject({ signatureKey: 'another', active: false, hookUrl: URL_2 })
      })
    },
  )

  it('sends the token in the form too, and does not redact values that contain it', () =>
    withService({}, async (run, forms) => {
      const { stdout, stderr, code } = await run('--name', 'renamed')
      expect(code).toBe(0)
      expect(stdout + stderr).not.toContain('TOKEN-1')
      expect(forms).toEqual([
        {
          name: 'renamed',
          hookUrl: WEBHOOK.hookUrl,
          changeTypes: JSON.stringify(WEBHOOK.changeTypes),
          active: 'false',
          contentType: WEBHOOK.contentType,
          payloadFormat: 'pjson',
          scheduleInfo: JSON.stringify(SCHEDULE),
          signatureKey: KEY,
          token: 'TOKEN-1',
          f: 'json',
        },
      ])
    }))

  it.each([
    [undefined],
    [null],
    ['********'],
    ['****1f2e'],
    ['3f1c…1f2e'],
    ['3f1c...1f2e'],
    ['<hidden>'],
    ['REDACTED'],
    ['xxxxxxxx'],
  ])('does not edit a webhook whose key the service does not show, without a key: %j', (shown) =>
    withService({ show: (webhook) => ({ ...webhook, signatureKey: shown }) }, async (run, forms) => {
      const refused = await run('--hook-url', URL_2, '--json')
      expect([refused.code, refused.stdout, forms]).toEqual([2, '', []])
      expect(JSON.parse(refused.stderr).error).toMatchObject({
        code: 'config_invalid',
        hint: expect.stringMatching(/--key-file .*--no-key/),
      })

      const edited = await run('--hook-url', URL_2, '--key', 'present')
      expect(edited).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('\n  key           not shown by the service\n'),
      })
      expect(await run('--hook-url', URL_2, '--no-key')).toMatchObject({ code: 0 })
      const sent = { hookUrl: URL_2, active: 'false' }
      expect(forms).toMatchObject([
        { ...sent, signatureKey: 'present' },
        { ...sent, signatureKey: '' },
      ])
    }),
  )

  it('edits a webhook without a key, and says which members the service does not show', () => {
    const show = ({ active: _, ...webhook }: Webhook) => ({ ...webhook, signatureKey: '' })
    return withService({ show }, async (run) => {
      const refused = await run('--hook-url', URL_2)
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/active is missing.*\n.*--active/),
      })
      const { stdout } = await run('--hook-url', URL_2, '--active', 'true')
      expect(stdout).toMatch(/\n {2}key {11}none\n {2}active {8}not shown by the service\n/)
    })
  })

  it.each<[string, boolean]>([
    ['True', true],
    ['false', false],
  ])('sends a boolean that the service shows as the text %s', (active, sent) => {
    const show = (webhook: Webhook) => ({ ...webhook, active })
    return withService({ show }, async (run, forms) => {
      const { code, stdout } = await run('--hook-url', URL_2)
      expect([code, forms]).toEqual([0, [expect.objectContaining({ active: String(sent) })]])
      expect(stdout).toContain(`  active        ${sent}\n`)
    })
  })

  it.each([
    ['sends nothing', 2, /^error: the response does not come from .*: the webhook w0 is missing/, 0],
    [
      'does not report an edit',
      4,
      /^error: the service accepted the change, but did not show the result /,
      1,
    ],
  ])('%s if the service shows another webhook', (_, answers, message, count) => {
    let shown = 0
    const show = (webhook: Webhook) => (shown++ === answers ? { ...webhook, id: 'w1' } : webhook)
    return withService({ show }, async (run, forms) => {
      const { code, stderr, stdout } = await run('--hook-url', URL_2)
      expect({ code, stderr, stdout }).toEqual({
        code: 1,
        stderr: expect.stringMatching(message),
        stdout: '',
      })
      expect(forms).toHaveLength(count)
    })
  })

  it.each<[string, Webhook, RegExp]>([
    [
      'the service ignores the requested changes',
      {},
      /as requested: payloadFormat .*\npayloadFormat: requested json, stored pjson\. The service may ignore/,
    ],
    [
      'the service, or another client, changes other members',
      { signatureKey: '', active: true },
      /as requested: key, active, payloadFormat .*\nkey: requested \*{3}, stored none\. active: requested false, stored true\. pay/,
    ],
  ])('exits with 1 if %s', (_, changes, message) => {
    const edit = (webhook: Webhook): Webhook => ({ ...webhook, hookUrl: URL_2, ...changes })
    return withService({ edit }, async (run) => {
      const { code, stdout, stderr } = await run('--hook-url', URL_2, '--payload-format', 'json')
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(message)
    })
  })

  it.each([
    ['the service does not let it read the webhook', 1, /"admin_forbidden".*error 403/, 0],
    ['the service refuses the edit with 200', 3, /"admin_refused"/, 1],
    ['the edited webhook cannot be read', 4, /"admin_unknown".*error 403/, 1],
  ])('exits with 1 if %s', (_, failing, message, count) => {
    const refusal = failing === 3 ? { success: false } : { status: 'error', code: 403, messages: [] }
    let requests = 0
    const answer = () => (requests++ === failing ? refusal : undefined)
    return withService({ answer }, async (run, forms) => {
      const result = await run('--hook-url', URL_2, '--json')
      expect(result).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) })
      expect(forms).toHaveLength(count)
    })
  })

  it('sends a payload URL as it is written, and masks its secret parts', () =>
    withService({}, async (run, forms) => {
      const written = 'HTTPS://flows.example:443?sig=Zm9vYmFy&v=2#part'
      const { code, stdout } = await run('--hook-url', written, '--change-types', 'All')
      expect([code, forms]).toMatchObject([0, [{ hookUrl: written, changeTypes: '["*"]' }]])
      expect(stdout).toContain('  hookUrl       HTTPS://flows.example:443?sig=***&v=***#***\n')
      expect(stdout).toMatch(/\n {2}changeTypes {3}\*\n {16}was FeaturesCreated,FeaturesDeleted\n/)
      const again = await run('--hook-url', URL_2)
      expect(again.stdout).toMatch(/ {16}was HTTPS:\S+#\*\*\*\n/)
      const shown = await run('--hook-url', written, '--show-urls')
      expect(shown).toMatchObject({ code: 2, stderr: expect.stringContaining('only on a terminal') })
    }))

  it('prints a value that the service has adjusted', () => {
    const show = ({ scheduleInfo, ...webhook }: Webhook) => ({
      ...webhook,
      scheduleInfo: { ...(scheduleInfo as object), recurrenceInfo: { frequency: 'second', interval: 60 } },
    })
    const raised = { ...SCHEDULE, recurrenceInfo: { frequency: 'second', interval: 60 } }
    const requested = { ...SCHEDULE, recurrenceInfo: { interval: 5, frequency: 'second' } }
    return withService({ show }, async (run) => {
      const { code, stdout } = await run('--schedule', JSON.stringify(requested))
      expect(code).toBe(0)
      expect(stdout).toContain(`  schedule      ${JSON.stringify(raised)}\n                requested {`)
    })
  })

  it('delete lists what it has deleted when the service refuses the next deletion', () => {
    const webhooks = [WEBHOOK, { ...WEBHOOK, id: 'w1' }, { ...WEBHOOK, id: 'w2' }]
    const answer = ({ url }: TargetRequest) => {
      if (/\/delete/.test(url)) return { success: !/\/w2/.test(url) }
      return /\/webhooks\?/.test(url) ? { webhooks } : webhooks.find(({ id }) => url.includes(`/${id}?`))
    }
    return withService({ answer, command: 'delete', name: 'w0' }, async (run) => {
      const { code, stdout, stderr } = await run('w1', 'w2', 'w1')
      expect([code, stdout]).toEqual([1, 'deleted edits (w0)\ndeleted edits (w1)\n'])
      expect(stderr).toMatch(/^error: \S+\/w2\/delete returned an error: /)
    })
  })

  it.each([['edit'], ['delete']])('%s requires an id if two webhooks have the name', (command) => {
    const answer = () => ({ webhooks: [WEBHOOK, { ...WEBHOOK, id: 'w1' }] })
    return withService({ answer, command }, async (run, forms) => {
      const { code, stderr } = await run(...(command === 'edit' ? ['--active', 'true'] : []))
      expect([code, forms]).toEqual([1, []])
      expect(stderr).toMatch(
        /^error: 2 webhooks of Parcels\.FeatureServer are named edits .*\nGive an id: w0, w1\.\n$/,
      )
    })
  })
})

type Webhook = Record<string, unknown>

interface Service {
  command?: string
  name?: string
  /** Returns the response to a request, or undefined for the default response. */
  answer?(request: TargetRequest): unknown
  /** Returns the webhook after an edit. By default, an edit sets all members that it contains. */
  edit?(webhook: Webhook): Webhook
  /** Returns the webhook as responses show it. */
  show?(webhook: Webhook): Webhook
}

/** Starts a service with one webhook, and passes a test a function that edits it, and the forms of the POST requests. */
async function withService(
  { command = 'edit', name = 'edits', answer, edit, show = (webhook) => webhook }: Service,
  use: (run: (...args: string[]) => Promise<RunResult>, forms: object[]) => Promise<void>,
): Promise<void> {
  let webhook: Webhook = { ...WEBHOOK, color: 'green' }
  const forms: object[] = []

  function respond(request: TargetRequest): unknown {
    const { method, url, body } = request
    if (method === 'POST') {
      const form = Object.fromEntries(new URLSearchParams(`${body}`))
      forms.push(form)
      webhook = edit?.(webhook) ?? { ...webhook, ...parse(form) }
    }
    return answer?.(request) ?? (url.includes('/webhooks?') ? { webhooks: [show(webhook)] } : show(webhook))
  }

  const target = await startTarget((res, request) => res.end(JSON.stringify(respond(request))))
  const options = { env: { GEOHOOK_TOKEN: 'TOKEN-1' } }
  try {
    await use((...args) => geohook([command, PARCELS, name, '--url', target.url, ...args], options), forms)
  } finally {
    await target.close()
  }
}

function parse({
  token: _,
  f: __,
  changeTypes,
  scheduleInfo,
  active,
  ...texts
}: Record<string, string>): Webhook {
  const values = [changeTypes, scheduleInfo, active].map((text) => JSON.parse(text ?? 'null'))
  return {
    ...texts,
    changeTypes: values[0],
    scheduleInfo: values[1],
    ...(active ? { active: values[2] } : {}),
  }
}
