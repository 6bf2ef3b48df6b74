import { createReceiver } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach } from 'vitest'
import { uniquePayload } from '../../contract/inbox/fixture.ts'
import { deliver, KEY } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'

/** Creates a folder for each test. After the test, closes the stores and removes the folder. */
export interface Fixture {
  readonly folder: ReturnType<typeof createFolder>
  readonly path: string
  /** Registers a store that the fixture closes after the test. Returns the store. */
  keep<Store extends { close(): Promise<void> }>(store: Store): Store
  /** Opens an inbox at `path`. */
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
    await Promise.all(opened.map((store) => store.close()))
    await folder.remove()
  })
  const keep: Fixture['keep'] = (store) => {
    opened.push(store)
    return store
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

/** Sends a unique delivery. Returns the response status. */
export async function send(inbox: DurableInbox): Promise<number> {
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
  return (await deliver(receiver, uniquePayload())).status
}
