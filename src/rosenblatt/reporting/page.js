// The theme follows the system until the button is pressed. Without this script there is no button, and nothing else is missing.
(function () {
  var root = document.documentElement, button = document.getElementById("theme");
  var system = matchMedia("(prefers-color-scheme: dark)");
  function dark() {
    var chosen = root.getAttribute("data-theme");
    return chosen ? chosen === "dark" : system.matches;
  }
  function say() {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", button.textContent + " theme");
  }
  button.hidden = false;
  button.addEventListener("click", function () {
    root.setAttribute("data-theme", dark() ? "light" : "dark");
    say();
  });
  system.addEventListener("change", say);
  say();
})();
