/** Looks for renewed certificate files while the service runs. */

import type { Server as TlsServer } from "node:tls";
import type { Certificates } from "./certificates.js";
import type { Server } from "./http-server.js";

const lookMs = 10_000;

export function renewCertificates(app: Server, certificates: Certificates, everyMs = lookMs): void {
  const look = () => {
    try {
      const renewed = certificates.renewed();
      if (renewed === undefined) return;
      (app.server as unknown as TlsServer).setSecureContext(renewed);
      app.log.info("TLS: new connections use the renewed certificate");
    } catch (error) {
      app.log.warn(`${(error as Error).message}; the service keeps the certificate that it has`);
    }
  };
  const timer = setInterval(look, everyMs).unref();
  app.addHook("onClose", async () => clearInterval(timer));
}
