import { describe, expect, it } from 'vitest'
import { geohook, withMock } from '../../helpers/cli.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, unusedUrl } from '../../helpers/target.ts'

const PARCELS = 'Parcels.FeatureServer'

describe.concurrent('geohook create', () => {
  it('creates a webhook whose deliveries are signed with the key', async () => {
    const target = await startTarget()
    const mock = await withMock([], async ({ geohook }) => {
      const triggers = ['--change-types', 'FeaturesCreated,FeaturesUpdated']
      const args = ['create', PARCELS, '--name', 'edits', '--hook-url', target.url, ...triggers, '--key', KEY]
      const created = await geohook(...args)
      expect(created).toMatchObject({ code: 0, stderr: '' })
      expect(created.stdout).toMatch(
        /^created edits \([\w-]+\)\n {2}name .*\n {2}hookUrl {7}http.*\n {2}changeTypes {3}FeaturesCreated,FeaturesUpdated\n {2}key {11}\*\*\*\n {2}active {8}true\n/,
      )
      expect((await geohook('trigger', PARCELS, 'FeaturesCreated')).code).toBe(0)
      const [request] = target.requests
      expect(request?.headers['x-service']).toBe(signatureOf(request?.body ?? ''))
      // The second create fails, because names must be unique within a service.
      const again = await geohook(...args)
      expect(again).toMatchObject({ code: 1, stdout: '' })
      expect(again.stderr).toMatch(/^error: the name is taken by the webhook /)
    })
    await target.close()
    expect(mock.output).not.toContain(KEY)
  })

  it('sends every option, and ignores SIGNATURE_KEY', async () => {
    await withMock([], async ({ geohook: run, url }) => {
      const args = ['--active', 'false', '--payload-format', 'pjson', '--json', '--name', 'n']
      const form = ['--content-type', 'application/x-www-form-urlencoded', '--hook-url', await unusedUrl()]
      const schedule = ['--schedule', '{"recurrenceInfo":{"interval":7,"frequency":"minute"}}']
      const { stdout } = await run('create', PARCELS, ...args, ...form, ...schedule)
      expect(JSON.parse(stdout).webhook).toMatchObject({
        id: expect.any(String),
        name: 'n',
        changeTypes: ['*'],
        active: false,
        payloadFormat: 'pjson',
        contentType: 'application/x-www-form-urlencoded',
        schedule: { recurrenceInfo: { interval: 7, frequency: 'minute' } },
      })
      const bare = ['create', PARCELS, '--name', 'bare', '--hook-url', 'http://127.0.0.1:9/', '--url', url]
      const made = await geohook(bare, { env: { SIGNATURE_KEY: KEY } })
      expect(made.stdout).toContain('\n  changeTypes   *\n  key           none\n')
    })
  })

  it.each([
    ['a name', ['--hook-url', 'http://127.0.0.1:9/'], "required option '--name <text>' not specified"],
    ['a payload URL', ['--name', 'n'], "required option '--hook-url <url>' not specified"],
  ])('requires %s', async (_, args, message) => {
    const result = await geohook(['create', PARCELS, ...args])
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})
