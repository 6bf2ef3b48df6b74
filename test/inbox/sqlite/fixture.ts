import { createReceiver, type Delivery } from 'geohook'
import { createSqliteInbox, type DurableInbox } from 'geohook/sqlite'
import { afterEach, beforeEach } from 'vitest'
import { uniquePayload } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'

/** A folder for each test, and what is closed at its end. */
export interface Fixture {
  readonly folder: ReturnType<typeof createFolder>
  readonly path: string
  keep<One extends { close(): Promise<void> }>(one: One): One
  open(options?: { maxPending?: number }): DurableInbox
}

export function useFolder(): Fixture {
  let folder: ReturnType<typeof createFolder>
  let opened: { close(): Promise<void> }[] = []
  beforeEach(() => {
    folder = createFolder()
    opened = []
  })
  afterEach(async () => {
    await Promise.all(opened.map((one) => one.close()))
    await folder.remove()
  })
  const keep: Fixture['keep'] = (one) => {
    opened.push(one)
    return one
  }
  return {
    get folder() {
      return folder
    },
    get path() {
      return folder.fileIn('inbox.db')
    },
    keep,
    open: (options) => keep(createSqliteInbox({ path: folder.fileIn('inbox.db'), ...options })),
  }
}

/** Sends a delivery that no other is like, and gives the status of the answer. */
export async function send(inbox: DurableInbox): Promise<number> {
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
  return (await deliver(receiver, uniquePayload())).status
}

let number = 0
export const deliveryOf = (rawBody = new Uint8Array(10)): Delivery => ({
  id: `${number++}`.padStart(32, '0'),
  rawBody,
  contentType: 'application/json',
  headers: {},
  receivedAt: new Date(),
  profile: 'service',
  payload: {},
  events: [],
  changeTypes: [],
})
