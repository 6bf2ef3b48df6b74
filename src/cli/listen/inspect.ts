import type { InspectorHandler, Reception, ReceptionOptions } from '../../inspector/index.ts'
import { startServer } from '../io/server.ts'
import type { Io } from '../terminal/io.ts'
import type { ReceivedRequest } from './request-listener.ts'

/** The server of `--inspect`, on this machine only. */
export interface Inspection {
  /** Begins to record. Called when the listener's address is known, before its first request arrives. */
  begin(options: ReceptionOptions): void
  add(request: ReceivedRequest): void
  /** Prints the address. */
  print(): void
  /** Closes all connections, also those that wait for changes. */
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const DEFAULT_PORT = 4040

/** @param port true for the default one. @throws {CliError} exit code 2 if the server cannot listen on the port */
export async function startInspection(io: Io, port: number | true): Promise<Inspection> {
  const { createReception, inspector } = await import('../../inspector/index.ts')
  let reception: Reception | undefined
  let page: InspectorHandler | undefined
  const server = await startServer(
    (req, res) => page?.(req, res),
    port === true ? DEFAULT_PORT : port,
    HOST,
    { option: '--inspect' },
  )
  return {
    begin(options) {
      reception = createReception(options)
      page = inspector(reception)
    },
    add(request) {
      reception?.add({ ...request, milliseconds: Date.now() - request.receivedAt.getTime() })
    },
    print() {
      const url = `${server.url}/`
      if (io.json) io.printEvent({ event: 'inspector', url })
      else io.print(`inspector on ${io.colours.bold(url)}`)
    },
    close: server.close,
  }
}
