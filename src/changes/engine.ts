import { type ChangesContext, createRemember } from './context.ts'
import { openAttachment } from './download.ts'
import { type Client, createClient } from './extract.ts'
import type { Settings } from './options.ts'
import { readRequests, type ServiceRequest } from './requests.ts'
import { type Run, runWithin } from './run.ts'
import { extractService } from './service-changes.ts'
import type { Attachment, Changes, ChangesSource } from './types.ts'

/** What a client does, after its options were checked. */
export interface Engine {
  of(source: ChangesSource, context: ChangesContext | undefined): Promise<Changes>
  download(attachment: Attachment, signal: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>>
  /** For other operations on services, with the same checks and limits. */
  client: Client
}

export function createEngine(settings: Settings): Engine {
  const client = createClient(settings.connection)
  const remember = createRemember<Changes>()

  async function extractAll(
    requests: readonly ServiceRequest[],
    run: Run,
    context: ChangesContext | undefined,
  ): Promise<Changes> {
    const all: Changes = { layers: [], layerServerGens: [] }
    // One service after another, because the changes of each can be a large document.
    for (const request of requests) {
      const { layers, layerServerGens } = await extractService(request, { client, settings, run, context })
      all.layers.push(...layers)
      all.layerServerGens.push(...layerServerGens)
    }
    return all
  }

  return {
    client,
    async of(source, context) {
      const requests = readRequests(source, settings.connection.origins)
      return remember(context, keyOf(requests), () =>
        runWithin(settings.timeout, context?.signal, (run) => extractAll(requests, run, context)),
      )
    },
    download: (attachment, signal) =>
      openAttachment(attachment, settings.connection, settings.timeout, signal),
  }
}

const keyOf = (requests: readonly ServiceRequest[]): string =>
  JSON.stringify(requests.map((request) => ({ ...request, parameters: [...request.parameters].sort() })))
