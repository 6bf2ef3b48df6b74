import type { InspectorHandler, Reception, ReceptionOptions } from '../../inspector/index.ts'
import { startServer } from '../io/server.ts'
import { colours, print, printJson } from '../terminal/output.ts'
import type { ReceivedRequest } from './request-listener.ts'

/** The server of `--inspect`, on this machine only. */
export interface Inspection {
  /** Begins to record. Called when the listener's address is known, before its first request arrives. */
  begin(options: ReceptionOptions): void
  add(request: ReceivedRequest): void
  /** Prints the address. */
  print(json: boolean): void
  /** Closes all connections, also those that wait for changes. */
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const DEFAULT_PORT = 4040

/** @param port true for the default one. @throws {CliError} exit code 2 if the server cannot listen on the port */
export async function startInspection(port: number | true): Promise<Inspection> {
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
    print(json) {
      const url = `${server.url}/`
      if (json) printJson({ event: 'inspector', url }, 0)
      else print(`inspector on ${colours.bold(url)}`)
    },
    close: server.close,
  }
}
