package idp;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.jose.jws.JwsAlgorithm;
import org.springframework.security.oauth2.jose.jws.MacAlgorithm;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.settings.ClientSettings;
import org.springframework.security.oauth2.server.authorization.settings.TokenSettings;

/** A client in the words of dynamic registration, as this server's own type. */
final class Clients {
  private Clients() {}

  /** The id within is this server's own: consents and tokens hang on it. */
  static RegisteredClient from(JsonNode given, String idWithin) {
    var client =
        RegisteredClient.withId(idWithin)
            .clientId(given.get("client_id").asText())
            .clientAuthenticationMethod(new ClientAuthenticationMethod(text(given, "token_endpoint_auth_method", "client_secret_basic")))
            .authorizationGrantType(AuthorizationGrantType.AUTHORIZATION_CODE)
            .authorizationGrantType(AuthorizationGrantType.REFRESH_TOKEN)
            .scope("openid")
            .scope("profile")
            .scope("email")
            .clientSettings(clientSettings(given))
            .tokenSettings(tokenSettings(given));
    if (given.hasNonNull("client_secret")) client.clientSecret(given.get("client_secret").asText());
    if ("by_scope".equals(text(given, "groups", ""))) client.scope("groups");
    given.path("redirect_uris").forEach((address) -> client.redirectUri(address.asText()));
    given.path("post_logout_redirect_uris").forEach((address) -> client.postLogoutRedirectUri(address.asText()));
    return client.build();
  }

  private static ClientSettings clientSettings(JsonNode given) {
    var method = text(given, "token_endpoint_auth_method", "client_secret_basic");
    // Consent is the one page of this server where somebody can turn back.
    var settings = ClientSettings.builder().requireProofKey("none".equals(method)).requireAuthorizationConsent(true);
    if (given.hasNonNull("jwks_uri")) settings.jwkSetUrl(given.get("jwks_uri").asText());
    if (given.hasNonNull("tls_client_auth_subject_dn")) settings.x509CertificateSubjectDN(given.get("tls_client_auth_subject_dn").asText());
    if (method.endsWith("_jwt")) settings.tokenEndpointAuthenticationSigningAlgorithm(assertionAlgorithm(given, method));
    for (var own : new String[] {SecurityConfiguration.GROUPS, SecurityConfiguration.CLAIMS_IN}) {
      if (given.hasNonNull(own)) settings.setting(own, given.get(own).asText());
    }
    return settings.build();
  }

  private static JwsAlgorithm assertionAlgorithm(JsonNode given, String method) {
    var mac = "client_secret_jwt".equals(method);
    var name = text(given, "token_endpoint_auth_signing_alg", mac ? "HS256" : "RS256");
    return mac ? MacAlgorithm.from(name) : SignatureAlgorithm.from(name);
  }

  private static TokenSettings tokenSettings(JsonNode given) {
    var renewal = given.path("renewal");
    return TokenSettings.builder()
        .accessTokenTimeToLive(Duration.ofMinutes(30))
        .reuseRefreshTokens(!renewal.path("rotates").asBoolean())
        .refreshTokenTimeToLive(Duration.ofSeconds(renewal.path("lifeS").asInt(3600)))
        .idTokenSignatureAlgorithm(SignatureAlgorithm.from(text(given, "id_token_signed_response_alg", "RS256")))
        .x509CertificateBoundAccessTokens(given.path("tls_client_certificate_bound_access_tokens").asBoolean())
        .build();
  }

  private static String text(JsonNode given, String name, String otherwise) {
    return given.hasNonNull(name) ? given.get(name).asText() : otherwise;
  }
}
