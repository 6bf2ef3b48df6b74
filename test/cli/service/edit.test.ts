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
  recurrenceInfo: { interval: 7, frequency: 'minute' },
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
            `  hookUrl       ${URL_2} (was http://127.0.0.1:9/v1)`,
            '  changeTypes   FeaturesCreated,FeaturesDeleted',
            '  active        false',
            '  contentType   application/x-www-form-urlencoded',
            '  payloadFormat pjson',
            `  scheduleInfo  ${JSON.stringify(SCHEDULE)}`,
            '  key           unchanged\n',
          ].join('\n'),
        })
        expect(await read()).toEqual({ ...before, hookUrl: URL_2, modified: expect.any(Number) })

        const schedule = ['--schedule', '{"state":"enabled"}', '--key', 'another', '--json']
        const scheduled = await geohook('edit', PARCELS, 'w0', ...schedule)
        expect(parseStdout(scheduled)).toMatchObject({
          signatureKey: '***',
          scheduleInfo: { ...SCHEDULE, state: 'enabled' },
          edit: { changed: ['scheduleInfo', 'signatureKey'], different: [], unknown: [] },
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
      expect([refused.code, refused.stdout, forms]).toEqual([1, '', []])
      expect(JSON.parse(refused.stderr).error).toMatchObject({
        code: 'member_hidden',
        hint: expect.stringContaining('--key-file'),
      })

      const edited = await run('--hook-url', URL_2, '--key', 'present')
      expect(edited).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/\n {2}key {11}not shown by the service\n$/),
      })
      expect(forms).toMatchObject([{ hookUrl: URL_2, signatureKey: 'present', active: 'false' }])
    }),
  )

  it('edits a webhook without a key, and says which members the service does not show', () => {
    const show = ({ active: _, ...webhook }: Webhook) => ({ ...webhook, signatureKey: '' })
    return withService({ show }, async (run) => {
      const { stdout } = await run('--hook-url', URL_2)
      expect(stdout).toMatch(/\n {2}active {8}not shown by the service\n(?:.*\n)* {2}key {11}none\n$/)
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
    ['sends nothing', 1, /^error: the response to \S+ is not the webhook w0\n/, 0],
    ['does not report an edit', 2, /^error: the service accepted the edit, but did not show the result: /, 1],
  ])('%s if the service shows another webhook', (_, reads, message, count) => {
    let shown = 0
    const show = (webhook: Webhook) => (shown++ === 2 * reads - 1 ? { ...webhook, id: 'w1' } : webhook)
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

  it('exits with 1 if the service changes other members, or ignores the requested changes', () => {
    const edit = (webhook: Webhook): Webhook => ({
      ...webhook,
      hookUrl: URL_2,
      signatureKey: '',
      active: true,
      lastError: 'x',
    })
    return withService({ edit }, async (run) => {
      const { code, stdout, stderr } = await run('--hook-url', URL_2, '--payload-format', 'json')
      expect(code).toBe(1)
      expect(stderr).toContain(
        'error: the webhook is not as requested: active, payloadFormat, signatureKey\n',
      )
      expect(stdout).toContain('  active        true (was false; not as requested)\n')
      expect(stdout).toContain('  payloadFormat pjson (was pjson; not as requested)\n')
      expect(stdout).toContain('  key           erased by the service\n')
      expect(stdout).toContain('  lastError     x (was )\n')
    })
  })

  it.each([
    ['the service does not let it read the webhook', 1, /answered 403/, 0],
    ['the service refuses the edit with 200', 2, /"service_200"/, 1],
    ['the edited webhook cannot be read', 3, /"edit_unverified".*answered 403/, 1],
  ])('exits with 1 if %s', (_, failing, message, count) => {
    const refusal = failing === 2 ? { success: false } : { status: 'error', code: 403, messages: [] }
    let requests = 0
    const answer = () => (requests++ === failing ? refusal : undefined)
    return withService({ answer }, async (run, forms) => {
      const result = await run('--hook-url', URL_2, '--json')
      expect(result).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) })
      expect(forms).toHaveLength(count)
    })
  })

  it('delete lists what it has deleted when the service refuses the next deletion', () => {
    const webhooks = [WEBHOOK, { ...WEBHOOK, id: 'w1' }, { ...WEBHOOK, id: 'w2' }]
    const answers: object[] = [{ webhooks }, {}, {}, { success: false }]
    return withService({ answer: () => answers.shift(), command: 'delete', name: 'w0' }, async (run) => {
      const { code, stderr } = await run('w1', 'w2')
      expect(code).toBe(1)
      expect(stderr).toMatch(/^error: the service answered .*; already deleted: w0, w1\n/)
    })
  })

  it.each([['edit'], ['delete']])('%s requires an id if two webhooks have the name', (command) => {
    const answer = () => ({ webhooks: [WEBHOOK, { ...WEBHOOK, id: 'w1' }] })
    return withService({ answer, command }, async (run, forms) => {
      const { code, stderr } = await run(...(command === 'edit' ? ['--active', 'true'] : []))
      expect([code, forms]).toEqual([1, []])
      expect(stderr).toBe('error: 2 webhooks are named edits\nGive an id: w0, w1.\n')
    })
  })
})

type Webhook = Record<string, unknown>

interface Service {
  command?: string
  name?: string
  /** Returns the response to a request, or undefined for the default response. */
  answer?(): unknown
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

  function respond({ method, url, body }: TargetRequest): unknown {
    if (method === 'POST') {
      const form = Object.fromEntries(new URLSearchParams(`${body}`))
      forms.push(form)
      webhook = edit?.(webhook) ?? { ...webhook, ...parse(form) }
    }
    return answer?.() ?? (url.includes('/webhooks?') ? { webhooks: [show(webhook)] } : show(webhook))
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
