using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "app", worker = .app)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "app")],
);

const app :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "bundled.mjs")],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "SIGNATURE_KEY", fromEnvironment = "SIGNATURE_KEY")],
);
