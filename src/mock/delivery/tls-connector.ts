import { buildConnector } from 'undici'
import type { Trust } from '../../shared/tls-trust.node.ts'

/** Creates a connector for undici that trusts further CAs. */
export function createConnector(trust: Trust): buildConnector.connector {
  const plain = buildConnector({})
  let current: { context: ReturnType<Trust>; connect: buildConnector.connector } | undefined

  /** A connector caches TLS sessions, and a resumed session is not verified again. So each context has its own. */
  function secure(): buildConnector.connector {
    const context = trust()
    if (current?.context !== context)
      current = { context, connect: buildConnector({ secureContext: context }) }
    return current.connect
  }

  return (options, callback) => {
    if (options.protocol !== 'https:') return plain(options, callback)
    let connect: buildConnector.connector
    try {
      connect = secure()
    } catch (error) {
      callback(error as Error, null)
      return
    }
    connect(options, callback)
  }
}
