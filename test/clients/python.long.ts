import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { hasProgram } from '../helpers/programs.ts'
import { type Mock, receiveFrom, startLike, USER } from './support.ts'

type Answers = Record<string, unknown>

/** Runs one part of the script, and returns the answers that it printed. */
async function run({ url }: Mock, part: string, hookUrl: string): Promise<Answers> {
  const script = fileURLToPath(new URL('python_client.py', import.meta.url))
  const args = [script, url, USER.username, USER.password, part, hookUrl]
  const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  return JSON.parse(output)
}

const SUCCESS = { status: 'success' }
const NAMES = ['Parcels.FeatureServer', 'Buffer.GPServer'] as const

/** A payload URL where no receiver listens. */
const NOWHERE = 'http://127.0.0.1:9/hook'

describe.skipIf(!hasProgram('python3'))("the calls of the vendor's Python client", () => {
  it.each(['service', 'enterprise'] as const)('administer webhooks of a mock like %s', async (like) => {
    const mock = await startLike(like, { like: { httpStatus: 'always200', errorFormat: 'error' } })
    const answers = await run(mock, 'server', NOWHERE)
    expect(answers.refused).toMatch(/token/)
    for (const name of NAMES) {
      const { read, again, ...others } = answers[name] as Answers
      const webhook = { name: 'python', changeTypes: ['*'], hookUrl: NOWHERE, signatureKey: '', active: true }
      expect(read).toMatchObject({ ...webhook, contentType: 'application/json', payloadFormat: 'json' })
      expect(again, 'writing back what was read changes nothing').toEqual({
        ...(read as object),
        modified: expect.any(Number),
      })
      expect(others).toMatchObject({
        created: { ...SUCCESS, ...webhook },
        duplicate: expect.stringMatching(/name is taken/),
        same: { ...SUCCESS, ...webhook },
        edited: { ...SUCCESS, ...webhook, name: 'edited', active: false },
        listed: [{ ...webhook, name: 'edited', active: false }],
        switched: [SUCCESS, SUCCESS],
        deleted: SUCCESS,
        gone: expect.stringMatching(/./),
        second: { ...SUCCESS, name: 'second', active: false },
        deletedAll: SUCCESS,
        left: [],
      })
    }
    const [feature, job] = NAMES.map((name) => (answers[name] as { read: Answers }).read)
    expect(feature?.scheduleInfo).toMatchObject({ recurrenceInfo: { interval: 20, frequency: 'second' } })
    expect(job?.scheduleInfo).toEqual({})
  })

  it('administer webhooks of a mock like online', async () => {
    const mock = await startLike('online')
    const { url } = await receiveFrom('online')
    const answers = await run(mock, 'hosted', url)
    const webhook = { name: 'python', changeTypes: ['All'], hookUrl: url, active: false }
    expect(answers).toMatchObject({
      created: expect.any(Object),
      read: webhook,
      listed: [{ ...webhook, name: 'edited' }],
      switched: [SUCCESS, SUCCESS],
      deleted: SUCCESS,
      deletedAll: SUCCESS,
      left: [],
    })
  })

  it('administer webhooks of a mock like portal', async () => {
    const mock = await startLike('portal')
    const { url } = await receiveFrom('portal')
    const answers = await run(mock, 'organization', url)
    const success = { success: true }
    const config = { deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 } }
    expect(answers).toMatchObject({
      created: success,
      some: success,
      listed: [
        { name: 'python', payloadUrl: url, config, isActive: true },
        { name: 'some', events: ['/items', '/groups/add'] },
      ],
      deactivated: success,
      inactive: { isActive: false },
      activated: success,
      updated: success,
      read: { name: 'updated', payloadUrl: url, isActive: true, config },
      notifications: { WebhookStatus: expect.any(Array), nextStart: -1 },
      settingsRead: {
        notificationAttempts: 4,
        notificationTimeOutInSeconds: 11,
        notificationElapsedTimeInSeconds: 6,
      },
      deleted: success,
      left: ['some'],
    })
  })

  it.each(['service', 'enterprise', 'online'] as const)(
    'extract the changes of a mock like %s',
    async (like) => {
      const mock = await startLike(like)
      const answers = await run(mock, 'changes', NOWHERE)
      const [{ objectId, globalId }] = (answers.added as { addResults: [Answers] }).addResults
      expect(answers).toMatchObject({
        tracking: { layerServerGens: [{ id: 0, serverGen: expect.any(Number) }] },
        added: { addResults: [{ success: true }] },
        submitted: {
          statusUrl: expect.stringContaining(`${mock.url}/rest/services/Parcels/FeatureServer/jobs/`),
        },
        states: expect.arrayContaining(['ExportChanges', 'Completed']),
        document: {
          layerServerGens: [{ id: 0, serverGen: expect.any(Number) }],
          edits: [
            {
              id: 0,
              features: {
                adds: [{ attributes: { name: 'python' }, geometry: { x: 1, y: 2 } }],
                updates: [],
                deleteIds: [],
              },
            },
          ],
        },
        queried: { objectIds: [objectId] },
      })
      expect(globalId).toEqual(expect.any(String))
    },
  )
})
