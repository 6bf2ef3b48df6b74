import { listenHost } from '../mounts/host.ts'

/** Serves a function over HTTP until SIGTERM, and prints its URL. */
export async function serve(invoke: Parameters<typeof listenHost>[0], path: string): Promise<void> {
  const { url, close } = await listenHost(invoke)
  console.log(`listening on ${new URL(path, url)}`)
  process.once('SIGTERM', close)
}
