package idp;

import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.X509TrustManager;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.web.embedded.tomcat.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/** Plain HTTP and TLS side by side; both can stop listening and listen again at the same port. */
@Component
public class Listeners implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {
  private final Connector secure = new Connector();
  private volatile Connector plain;

  /** The files are PEM. */
  Listeners(@Value("${tls.port}") int port, @Value("${tls.certificate}") String certificate, @Value("${tls.key}") String key) {
    var host = new SSLHostConfig();
    host.setCertificateVerification("optional");
    host.setTrustManagerClassName(AnyClient.class.getName());
    var pair = new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.EC);
    pair.setCertificateFile(certificate);
    pair.setCertificateKeyFile(key);
    host.addCertificate(pair);
    secure.setPort(port);
    secure.setScheme("https");
    secure.setSecure(true);
    secure.setProperty("SSLEnabled", "true");
    secure.setProperty("address", "127.0.0.1");
    secure.addSslHostConfig(host);
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    factory.addConnectorCustomizers((connector) -> plain = connector);
    factory.addAdditionalTomcatConnectors(secure);
  }

  public void stop() throws LifecycleException {
    for (var connector : List.of(plain, secure)) connector.stop();
  }

  public void start() throws LifecycleException {
    for (var connector : List.of(plain, secure)) connector.start();
  }

  /** Lets every certificate of a client through: the authorization server compares them with what is registered. */
  public static class AnyClient implements X509TrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String kind) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String kind) {
      throw new UnsupportedOperationException();
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
