package idp;

import static org.springframework.security.config.Customizer.withDefaults;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.session.SessionRegistry;
import org.springframework.security.core.session.SessionRegistryImpl;
import org.springframework.security.crypto.password.NoOpPasswordEncoder;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.oauth2.core.oidc.OidcUserInfo;
import org.springframework.security.oauth2.core.oidc.endpoint.OidcParameterNames;
import org.springframework.security.oauth2.server.authorization.InMemoryOAuth2AuthorizationConsentService;
import org.springframework.security.oauth2.server.authorization.OAuth2AuthorizationConsentService;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.config.annotation.web.configurers.OAuth2AuthorizationServerConfigurer;
import org.springframework.security.oauth2.server.authorization.oidc.authentication.OidcUserInfoAuthenticationContext;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;
import org.springframework.security.oauth2.server.authorization.web.authentication.X509ClientCertificateAuthenticationConverter;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.authentication.AuthenticationConverter;
import org.springframework.security.web.authentication.LoginUrlAuthenticationEntryPoint;
import org.springframework.security.web.session.HttpSessionEventPublisher;

/** The server as its guide sets it up, with pushed requests, and the claims that it does not tell by itself. */
@Configuration
public class SecurityConfiguration {
  /** A client's own setting: `unasked` or `by_scope`. */
  static final String GROUPS = "groups";

  /** A client's own setting: `id_token` or `userinfo`. */
  static final String CLAIMS_IN = "claimsIn";

  private final Registry registry;

  SecurityConfiguration(Registry registry) {
    this.registry = registry;
  }

  @Bean
  @Order(1)
  SecurityFilterChain protocol(HttpSecurity http) throws Exception {
    var server = OAuth2AuthorizationServerConfigurer.authorizationServer();
    return http.securityMatcher(server.getEndpointsMatcher())
        .with(
            server,
            (configured) ->
                configured
                    .clientAuthentication((clients) -> clients.authenticationConverters(SecurityConfiguration::certificatesFirst))
                    .authorizationEndpoint((endpoint) -> endpoint.consentPage(ConsentPage.PATH))
                    .pushedAuthorizationRequestEndpoint(withDefaults())
                    .oidc((oidc) -> oidc.userInfoEndpoint((userInfo) -> userInfo.userInfoMapper(this::userInfo))))
        // Pushed requests meet the login page unless their address is allowed here.
        .authorizeHttpRequests((requests) -> requests.requestMatchers("/oauth2/par").permitAll().anyRequest().authenticated())
        .exceptionHandling((answers) -> answers.authenticationEntryPoint(new LoginUrlAuthenticationEntryPoint("/login")))
        .build();
  }

  @Bean
  @Order(2)
  SecurityFilterChain pages(HttpSecurity http) throws Exception {
    return http.authorizeHttpRequests((requests) -> requests.anyRequest().authenticated()).formLogin(withDefaults()).build();
  }

  @Bean
  OAuth2TokenCustomizer<JwtEncodingContext> idTokens() {
    return (context) -> {
      var client = context.getRegisteredClient();
      if (!OidcParameterNames.ID_TOKEN.equals(context.getTokenType().getValue()) || "userinfo".equals(setting(client, CLAIMS_IN))) return;
      claims(context.getPrincipal().getName(), client, List.copyOf(context.getAuthorizedScopes()))
          .forEach((name, value) -> context.getClaims().claim(name, value));
    };
  }

  @Bean
  SessionRegistry sessions() {
    return new SessionRegistryImpl();
  }

  @Bean
  OAuth2AuthorizationConsentService consents() {
    return new InMemoryOAuth2AuthorizationConsentService();
  }

  @Bean
  HttpSessionEventPublisher sessionEvents() {
    return new HttpSessionEventPublisher();
  }

  /** client_secret_jwt needs the secret as it is. */
  @Bean
  @SuppressWarnings("deprecation")
  PasswordEncoder plain() {
    return NoOpPasswordEncoder.getInstance();
  }

  /** By default whoever sends a PKCE verifier without a secret is a public client before a certificate is looked at, and refused. */
  private static void certificatesFirst(List<AuthenticationConverter> converters) {
    converters.sort(Comparator.comparing((converter) -> !(converter instanceof X509ClientCertificateAuthenticationConverter)));
  }

  private OidcUserInfo userInfo(OidcUserInfoAuthenticationContext context) {
    var authorization = context.getAuthorization();
    var client = registry.findById(authorization.getRegisteredClientId());
    var name = authorization.getPrincipalName();
    var told = new LinkedHashMap<String, Object>(Map.of("sub", name));
    if (!"id_token".equals(setting(client, CLAIMS_IN))) {
      told.putAll(claims(name, client, List.copyOf(context.getAccessToken().getScopes())));
    }
    return new OidcUserInfo(told);
  }

  private Map<String, Object> claims(String username, RegisteredClient client, List<String> scopes) {
    var person = registry.person(username);
    var told = new LinkedHashMap<String, Object>();
    if (person == null) return told;
    if (scopes.contains("profile")) {
      told.put("name", person.givenName() + " " + person.familyName());
      told.put("preferred_username", username);
    }
    if (scopes.contains("email")) {
      told.put("email", person.email());
      told.put("email_verified", true);
    }
    var groups = setting(client, GROUPS);
    if ("unasked".equals(groups) || ("by_scope".equals(groups) && scopes.contains("groups"))) {
      told.put("groups", new ArrayList<>(person.groups()));
    }
    return told;
  }

  private static Object setting(RegisteredClient client, String name) {
    return client.getClientSettings().getSettings().get(name);
  }
}
