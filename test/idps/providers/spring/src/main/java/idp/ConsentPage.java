package idp;

import static org.springframework.web.util.HtmlUtils.htmlEscape;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** In place of the server's own page, which needs a script to turn back. No scope at all is how a refusal is said. */
@RestController
public class ConsentPage {
  static final String PATH = "/consent";

  @GetMapping(path = PATH, produces = "text/html")
  String page(@RequestParam("client_id") String client, @RequestParam("state") String state, @RequestParam("scope") String scope) {
    var scopes = Arrays.stream(scope.split(" ")).map((name) -> hidden("scope", name)).collect(Collectors.joining());
    var request = hidden("client_id", client) + hidden("state", state);
    return "<!doctype html><title>Consent</title>" + form(request + scopes, "Allow") + form(request, "Deny");
  }

  private static String form(String fields, String button) {
    return "<form method=\"post\" action=\"/oauth2/authorize\">%s<button>%s</button></form>".formatted(fields, button);
  }

  private static String hidden(String name, String value) {
    return "<input type=\"hidden\" name=\"%s\" value=\"%s\">".formatted(name, htmlEscape(value));
  }
}
