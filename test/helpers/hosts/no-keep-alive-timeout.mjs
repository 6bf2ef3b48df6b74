// Import this before a server, so that idle connections never time out: the process then exits only if the shutdown
// closes them.
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function listenWithoutTimeout(...args) {
  if ('keepAliveTimeout' in this) this.keepAliveTimeout = 0
  return listen.apply(this, args)
}
