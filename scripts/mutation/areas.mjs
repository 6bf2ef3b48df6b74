/**
 * For each area, the files to mutate and the tests that must notice the changes. With `usesBuild`, the tests start
 * processes that use the built package, so it is built with the changes, and each change needs all tests: Stryker cannot
 * see which of them run its code. Other areas exclude such tests, because they see no change.
 */
export const AREAS = {
  signature: {
    mutate: ['src/signature/*.ts'],
    tests: [
      'test/signature/{errors,hmac,sizes,vectors,verify}.test.ts',
      'test/explain/{input,causes}.test.ts',
      'test/payload/decode.test.ts',
      'test/receiver/{arcgis,form-field,handshake,option-bounds,options,outcomes,portal,secret-header,tenant}.test.ts',
      'test/{known-options,known-traps,properties}.test.ts',
      'test/testing/{payloads,round-trip,signer}.test.ts',
    ],
  },
  explain: {
    mutate: ['src/explain/**/*.ts'],
    tests: ['test/explain/*.test.ts'],
  },
  payload: {
    mutate: ['src/payload/**/*.ts', 'src/shared/json.ts'],
    tests: [
      'test/payload/*.test.ts',
      'test/receiver/{dispatch,handle-together}.test.ts',
      'test/mock/admin/edit-parameters.test.ts',
      'test/{properties,known-traps}.test.ts',
      // The URLs of changes.
      'test/changes/{client,contract/contract,ends,generations,partial}.test.ts',
      'test/inbox/coalesce.test.ts',
    ],
  },
  receiver: {
    mutate: ['src/receiver/*.ts', 'src/runtime/runtime.*.ts'],
    tests: [
      'test/receiver/!(stackless-error-frozen).test.ts',
      'test/known-traps.test.ts',
      'test/adapters/{drain-refused,hono,remote-address}.test.ts',
      // Deliveries that are handled together, or caught up.
      'test/inbox/coalesce.test.ts',
      'test/contract/inbox/memory.test.ts',
      'test/changes/{attempts,catch-up,client}.test.ts',
    ],
  },
  adapters: {
    // refused-uploads.long.ts is included because only tests with sockets cover the draining of refused requests. The
    // other contract tests are excluded, because they would take half a minute per change.
    mutate: ['src/adapters/*.ts', 'src/runtime/drain.node.ts'],
    tests: ['test/adapters/*.test.ts', 'test/contract/refused-uploads.long.ts'],
  },
  outgoing: {
    // What the mock, the inspector and the check share for their own requests.
    mutate: ['src/shared/{certificate-errors,connection-errors,tls-trust.node}.ts'],
    tests: [
      'test/check/{check-receiver,tls}.test.ts',
      'test/mock/delivery/{answers,certificate-chains,fault-timing,handshake-answers,https,receivers,trusted-cas}.test.ts',
      'test/inspector/{mock-deliveries,request-log-recording,store-errors}.test.ts',
    ],
  },
  inbox: {
    // The parts that all engines share, with the engine in memory. The tests of the other engines repeat the contract.
    mutate: ['src/inbox/*.ts', 'src/inbox/memory/*.ts'],
    tests: [
      'test/contract/inbox/memory.test.ts',
      'test/inbox/!(sharding).test.ts',
      'test/inbox/memory/*.test.ts',
    ],
  },
  sqlite: {
    mutate: ['src/inbox/sqlite/*.ts'],
    usesBuild: true,
    tests: [
      'test/contract/inbox/sqlite.test.ts',
      // The tests of the whole process change its umask and its folder, which a worker thread cannot.
      'test/inbox/sqlite/!(whole-process).test.ts',
    ],
  },
  postgres: {
    mutate: ['src/inbox/postgres/*.ts'],
    tests: ['test/contract/inbox/postgres.engine.ts', 'test/inbox/postgres/!(pgbouncer).engine.ts'],
  },
  redis: {
    mutate: ['src/inbox/redis/*.ts'],
    tests: [
      'test/contract/inbox/redis.engine.ts',
      'test/inbox/redis/*.engine.ts',
      'test/inbox/options.test.ts',
    ],
  },
}
