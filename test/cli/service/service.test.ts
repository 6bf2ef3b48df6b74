import { describe, expect, it } from 'vitest'
import { createFolder, geohook, parseStdout, withListener, withMock } from '../../helpers/cli.ts'
import { seedFor, useJsonFiles } from '../../helpers/cli-seed.ts'
import { KEY } from '../../helpers/deliver.ts'
import { unusedUrl } from '../../helpers/target.ts'

const folder = createFolder()
const jsonFile = useJsonFiles()
const PARCELS = 'Parcels.FeatureServer'
const JOBS = 'Jobs/Analysis.GPServer'

describe.concurrent('geohook list, edit, delete and trigger', () => {
  it('manage webhooks of a mock service whose deliveries reach geohook listen', async () => {
    await withListener(
      [],
      async (hookUrl, listener) => {
        const seed = jsonFile(seedFor(hookUrl))
        const mock = await withMock(['--seed', seed], async ({ geohook, mock, url }) => {
          const list = await geohook('list')
          expect(list).toMatchObject({ code: 0, stderr: '' })
          expect(list.stdout).toMatch(/^service +id +name +change types +active +key +hookUrl\n/)
          expect(list.stdout).toMatch(
            /Parcels\.FeatureServer +w0 +edits 0 +FeaturesCreated +yes +\*\*\* +http/,
          )
          expect(list.stdout).toMatch(/Jobs\/Analysis\.GPServer +[\w-]+ +jobs /)

          const created = await geohook('trigger', PARCELS, 'FeaturesCreated')
          expect(created).toMatchObject({ code: 0, stderr: '' })
          expect(created.stdout).toMatch(/^200 {2}attempt 1 {2}http:\S+ {2}\d+ ms\n$/)
          await listener.printed(/verified +200 {2}FeaturesCreated {2}Parcels \/ edits 0 /)
          await mock.printed(/200 {2}attempt 1 {2}http/)

          const job = await geohook('trigger', JOBS, 'esriJobSucceeded', '--job-id', 'j42', '--json')
          expect(parseStdout(job).attempts).toEqual([
            expect.objectContaining({ number: 1, status: 200, milliseconds: expect.any(Number) }),
          ])
          await listener.printed(/verified +200 {2}esriJobSucceeded {2}Analysis \/ jobs /)

          const edit = ['--name', 'renamed', '--change-types', 'FeaturesUpdated']
          expect((await geohook('edit', PARCELS, 'edits 0', ...edit)).stdout).toMatch(
            /^edited renamed \(w0\)\n {2}name {10}renamed\n {16}was edits 0\n(.*\n)* {2}key {11}\*\*\*\n/,
          )
          expect((await geohook('trigger', PARCELS, 'FeaturesCreated')).code).toBe(4)
          expect((await geohook('trigger', PARCELS, 'FeaturesUpdated')).code).toBe(0)
          await mock.printed(/edited {2}renamed of Parcels\.FeatureServer/)

          const changed = await geohook('edit', PARCELS, 'w0', '--key', 'another', '--json')
          expect(parseStdout(changed)).toMatchObject({
            webhook: { id: 'w0', name: 'renamed', key: '***' },
            changed: ['key'],
          })
          // The delivery fails, because the listener does not know the new key.
          expect(await geohook('trigger', PARCELS, 'FeaturesUpdated')).toMatchObject({ code: 1 })

          const deleted = await geohook('delete', PARCELS, 'renamed')
          expect(deleted).toEqual({ code: 0, stdout: 'deleted renamed (w0)\n', stderr: '' })
          expect((await geohook('list', PARCELS)).stdout).toBe('there are no webhooks\n')
          expect(parseStdout(await geohook('delete', JOBS, '--all', '--yes', '--json'))).toEqual({
            deleted: [expect.any(String)],
          })
          expect(await geohook('list', '--url', `${url}/`)).toMatchObject({ code: 0 })
        })
        expect(mock.output).not.toContain(KEY)
        expect(await mock.exited).toBe(0)
      },
      { env: { SIGNATURE_KEY: KEY } },
    )
  })

  it('edit sends every option, including a schedule', async () => {
    await withMock(['--seed', jsonFile(seedFor(await unusedUrl()))], async ({ geohook }) => {
      const schedule = '{"recurrenceInfo":{"interval":7,"frequency":"minute"}}'
      const args = ['--hook-url', 'http://127.0.0.1:9/x', '--active', 'false', '--payload-format', 'pjson']
      const more = ['--content-type', 'application/x-www-form-urlencoded', '--schedule', schedule, '--json']
      const result = await geohook('edit', PARCELS, 'w0', ...args, ...more)
      expect(result.code).toBe(0)
      expect(parseStdout(result).webhook).toMatchObject({
        name: 'edits 0',
        changeTypes: ['FeaturesCreated'],
        hookUrl: 'http://127.0.0.1:9/x',
        active: false,
        payloadFormat: 'pjson',
        contentType: 'application/x-www-form-urlencoded',
        schedule: { recurrenceInfo: { interval: 7, frequency: 'minute' } },
        key: '***',
      })
    })
  })

  it('exit with 1 and print the error of the service', async () => {
    const args = ['--seed', jsonFile(seedFor(await unusedUrl())), '--like', 'httpStatus=always200']
    await withMock(args, async ({ geohook }) => {
      const cases: [string[], RegExp][] = [
        [
          ['list', 'Nothing.FeatureServer'],
          /^error: http:\S+\/services\/Nothing\S+ returned the error 404: /,
        ],
        [
          ['edit', PARCELS, 'nothing', '--name', 'x'],
          /^error: Parcels\.FeatureServer has no webhook nothing .*\n.*"geohook list"/,
        ],
        [
          ['edit', PARCELS, 'w0', '--change-types', 'FeatureCreated'],
          /^error: http:\S+ returned the error 400: .*changeTypes/,
        ],
        [['delete', PARCELS, 'w0', 'nothing'], /^error: Parcels\.FeatureServer has no webhook nothing /],
        [
          ['trigger', 'Nothing.FeatureServer', 'x', '--any'],
          /^error: the service answered 4\d\d for \/_mock\/trigger: .*no service/,
        ],
      ]
      for (const [line, message] of cases) {
        const result = await geohook(...line)
        expect(result).toMatchObject({ code: 1, stdout: '' })
        expect(result.stderr).toMatch(message)
      }
      // The failed delete command has deleted no webhook, not even the one with a known name.
      expect((await geohook('list', PARCELS)).stdout).toContain('w0')
    })
  })

  it('trigger prints a failed attempt, and does not wait for it with --no-wait', async () => {
    await withMock(['--seed', jsonFile(seedFor(await unusedUrl()))], async ({ geohook }) => {
      const failed = await geohook('trigger', PARCELS, 'FeaturesCreated')
      expect(failed).toMatchObject({ code: 1, stderr: '' })
      expect(failed.stdout).toMatch(/^--- {2}attempt 1 {2}http:\S+ {2}\d+ ms {2}.*ECONNREFUSED/)
      expect(await geohook('trigger', PARCELS, 'FeaturesCreated', '--no-wait')).toMatchObject({
        code: 0,
        stdout: 'triggered\n',
      })
    })
  })

  it('send a user token from each source without printing it', async () => {
    const users = [{ username: 'alice', password: 'wonderland', privileges: ['features'] }]
    const args = ['--users', jsonFile(users), '--seed', jsonFile(seedFor(await unusedUrl()))]
    await withMock(args, async ({ url, geohook: run }) => {
      const refused = await run('list', PARCELS)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(/the error 499: .*--token-file/s)
      const form = new URLSearchParams({ username: 'alice', password: 'wonderland', f: 'json' })
      const response = await fetch(`${url}/generateToken`, { method: 'POST', body: form })
      const { token } = (await response.json()) as { token: string }
      const file = folder.file('token.txt', `${token}\n`)
      for (const [given, env] of [
        [['--token', token], {}],
        [['--token-file', file], {}],
        [[], { GEOHOOK_TOKEN: token }],
        [['--token-env', 'OTHER'], { OTHER: token }],
      ] as [string[], Record<string, string>][]) {
        const result = await geohook(['list', PARCELS, '--url', url, ...given], { env })
        expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('edits 0') })
        expect(result.stdout + result.stderr).not.toContain(token)
      }
      const wrong = await run('list', PARCELS, '--token', 'secretnonsense')
      expect(wrong.stderr).toMatch(/the error 498: /)
      expect(wrong.stderr).not.toContain('secretnonsense')
      expect(await run('delete', JOBS, '--all', '--yes', '--token', token)).toMatchObject({ code: 1 })
    })
  })
})

describe.concurrent('wrong usage of the service commands exits with 2', () => {
  it.each([
    ['edit without a change', ['edit', PARCELS, 'x'], /there is nothing to change/],
    [
      'edit with an invalid schedule',
      ['edit', PARCELS, 'x', '--schedule', '[]'],
      /--schedule must be a JSON object/,
    ],
    ['delete without names', ['delete', PARCELS], /either the webhooks to delete or --all/],
    [
      'edit with a key and --no-key',
      ['edit', PARCELS, 'x', '--no-key', '--key-env', 'K'],
      /--no-key and the/,
    ],
    ['activate with one key for two', ['activate', PARCELS, 'x', 'y', '--key', 'k'], /a key belongs to one/],
    ['delete --all without a terminal', ['delete', PARCELS, '--all'], /every .*\nConfirm it with --yes/],
    ['all servers and a service', ['list', PARCELS, '--all-servers'], /cannot be used with a service/],
    [
      'delete with names and --all',
      ['delete', PARCELS, 'x', '--all'],
      /either the webhooks to delete or --all/,
    ],
    ['a service without its type', ['list', 'Parcels'], /must be written like Parcels\.FeatureServer/],
    ['an invalid layer', ['trigger', PARCELS, 'x', '--layer', '-1'], /--layer <n>: must be a whole number/],
    ['an empty token', ['list', '--token', ''], /the token in --token is empty/],
    ['a token of two lines', ['list', '--token', 'a\r\nb: c'], /token contains blanks, line breaks/],
    ['a URL with a query', ['list', '--url', 'http://127.0.0.1:1/?a=b'], /--url has a query/],
  ])('%s', async (_, line, message) => {
    const result = await geohook(line)
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toMatch(message)
  })
})
