// @module-tag sqlite
import { readdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { CLEAN_ENV, CLI } from '../helpers/cli.ts'
import { KEY, payloadOf } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import {
  isAccepted,
  openConnection,
  type Posted,
  postOver,
  type ReceiverProcess,
  startLimited,
  startReceiver,
} from './receiver-process.ts'

const DESCRIPTORS = 64

/** Keeps idle connections open. */
const NO_TIMEOUT = new URL('../helpers/hosts/no-keep-alive-timeout.mjs', import.meta.url).pathname

/** Opens connections until the receiver closes one, because it has no descriptor for it. */
async function openUntilFull({ open }: Pick<ReceiverProcess, 'open'>): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let socket = await open(); socket; socket = await open()) sockets.push(socket)
  return sockets
}

function useFolder(): (name: string) => string {
  const folder = createFolder()
  onTestFinished(() => folder.remove())
  return folder.fileIn
}

const statusesOf = (posted: readonly Posted[]): number[] => posted.map(({ status }) => status)

/** Waits until the handlers have received every delivery that the receiver accepted. */
async function expectHandled({ app }: ReceiverProcess, posted: readonly Posted[]): Promise<void> {
  for (const { number } of posted.filter(isAccepted)) await app.printed(new RegExp(`handled ${number}\\.`))
}

describe('a receiver without free file descriptors (EMFILE)', () => {
  it('closes further connections, responds on the others, and accepts again when some have ended', async () => {
    const receiver = await startReceiver({ descriptors: DESCRIPTORS })
    const sockets = await openUntilFull(receiver)
    expect(sockets.length).toBeGreaterThan(10)
    const posted = [await receiver.post(await receiver.open()), await receiver.post(sockets.pop())]
    expect(statusesOf(posted)).toEqual([0, 200])
    for (const socket of sockets) socket.destroy()
    do posted.push(await receiver.post(await receiver.open()))
    while (posted.at(-1)?.status === 0)
    expect(posted.at(-1)?.status).toBe(200)
    await expectHandled(receiver, posted)
  })

  it.each([
    ['is open', {}, [202, 503]],
    ['is not open yet', { LAZY: '1' }, [503]],
  ])('returns 503, loses nothing and recovers, if its SQLite inbox %s', async (_, env, expected) => {
    const STORE = useFolder()('inbox.db')
    const receiver = await startReceiver({ descriptors: DESCRIPTORS, env: { STORE, ...env } })
    const sockets: (Socket | undefined)[] = []
    while (sockets.length < 4) sockets.push(await receiver.open())
    receiver.command('fill')
    await receiver.app.printed(/full EMFILE/)
    const during = [await receiver.post(sockets[0]), await receiver.post(sockets[1])]
    expect(expected).toEqual(expect.arrayContaining(statusesOf(during)))
    receiver.command('free')
    await receiver.app.printed(/freed/)
    const after = [await receiver.post(sockets[2]), await receiver.post(sockets[3])]
    expect(statusesOf(after)).toEqual([202, 202])
    receiver.command('work')
    await expectHandled(receiver, [...during, ...after])
  })
})

describe('geohook listen --save without free file descriptors (EMFILE)', () => {
  it('responds, reports that it cannot save the capture, and saves again later', async () => {
    const folder = useFolder()('captures')
    const options = ['--port', '0', '--key', KEY, '--save', folder]
    const app = startLimited(['--import', NO_TIMEOUT, CLI, 'listen', ...options], DESCRIPTORS, CLEAN_ENV)
    const [, port] = await app.printed(/http:\/\/127\.0\.0\.1:(\d+)/)
    const open = () => openConnection(Number(port))
    const post = (socket: Socket | undefined) => postOver(socket, payloadOf('FeaturesCreated'))
    expect(await post(await open())).toBe(200) // after it, all packages are loaded
    await app.printed(/-verified\.json/)
    // The captures of the GET requests on these connections need a descriptor for a moment.
    const sockets: Socket[] = []
    for (let more = [await open()]; more.length > 0; more = await openUntilFull({ open })) {
      sockets.push(...more.filter((socket) => socket !== undefined))
      await until(() => app.stdout.split(' refused ').length > sockets.length + 1)
    }
    const before = readdirSync(folder).length
    expect(await post(sockets.pop())).toBe(200)
    await until(() => app.stdout.split(' verified ').length > 2)
    expect(app.stderr).toMatch(/cannot save a capture in .*: EMFILE\n$/)
    expect(readdirSync(folder).length).toBe(before)
    for (const socket of sockets) socket.destroy()
    while ((await post(await open())) !== 200);
    await until(() => readdirSync(folder).filter((name) => name.endsWith('-verified.json')).length === 2)
  })
})
